// A cache of n-gram states (C-21): the most recently used ones in memory, evicted ones in a file if
// there is one. A state depends on its tokens only, so the cache does not affect what is drafted.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "draft/chimera/ngram.h"
#include "draft/chimera/spill_file.h"

namespace foretoken {

// Numbers of look-ups: in all, answered from memory, and answered from the spill file.
struct NgramLookups {
  int64_t total = 0, from_memory = 0, from_file = 0;
};

// Thread-safety: one thread.
class NgramCache {
 public:
  // Holds `entries` rows of `width` elements in memory; with 0, nothing is cached. `spill` may be
  // null.
  NgramCache(Backend& backend, int width, int entries, std::unique_ptr<SpillFile> spill)
      : backend_(backend), width_(width), entries_(entries), spill_(std::move(spill)) {}

  // Copies the state of `ngram` to `out` [1, width]. Returns false if it is not cached. Errors,
  // here and below: out of memory.
  Result<bool> Find(const Ngram& ngram, Tensor out);
  // Adds the state `row` [1, width]. If memory is full, the least recently used state is evicted.
  Status Keep(const Ngram& ngram, Tensor row);

  const NgramLookups& lookups() const { return lookups_; }

 private:
  struct Entry {
    Ngram ngram;
    int row;
  };
  Tensor Row(int row) const;
  Result<int> FreeRow();

  Backend& backend_;
  int width_, entries_;
  std::unique_ptr<SpillFile> spill_;
  std::list<Entry> used_;  // most recently used first
  std::unordered_map<Ngram, std::list<Entry>::iterator, NgramHash> places_;
  std::vector<Buffer> slabs_;
  std::vector<float> scratch_;  // [width]
  NgramLookups lookups_;
};

}  // namespace foretoken
