// The rule all our schemes share: of all neighbouring symbols that may merge, the pair of lowest
// rank merges first, the leftmost among equals, until none may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace foretoken {

// Thread-safety: const methods on any thread.
class MergeTable {
 public:
  struct Merge {
    int32_t rank;
    Token result;
  };

  explicit MergeTable(size_t expected_merges = 0);

  // `left` and `right`, side by side, may become `merge.result`. A pair that is known already keeps
  // the lower of the two ranks. REQUIRES: ids >= 0.
  void Add(Token left, Token right, Merge merge);

  // Null when the pair may not merge.
  const Merge* Find(Token left, Token right) const;

  // Merges `symbols` in place as far as possible. Negative symbols never merge. O(n log n).
  void Apply(std::vector<Token>& symbols) const;

 private:
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  size_t FirstSlot(uint64_t key) const;
  void Grow();
  void ApplyShort(std::vector<Token>& symbols) const;
  void ApplyLong(std::vector<Token>& symbols) const;

  std::vector<Slot> slots_;  // open addressing; a power of two of them, at most half in use
  size_t used_ = 0;
};

}  // namespace foretoken
