// The merge rule shared by all tokenizer schemes: among all adjacent symbol pairs that can merge,
// the pair of lowest rank merges first, the leftmost of equals, until no pair can merge.
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

  // Lets adjacent `left` and `right` merge into `merge.result`. A pair added twice keeps the lower
  // rank. REQUIRES: ids >= 0.
  void Add(Token left, Token right, Merge merge);

  // Null if the pair cannot merge.
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

  std::vector<Slot> slots_;  // open addressing; a power of two in size, at most half full
  size_t used_ = 0;
};

}  // namespace foretoken
