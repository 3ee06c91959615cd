// The continuations found in a corpus, as a trie with counts.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

class ContinuationTrie {
 public:
  struct Item {
    Token token;
    int parent;  // -1 below the root
    int count;   // number of continuations that begin with the path to this item
  };

  // Adds a continuation. Continuations with equal beginnings must be added one after another, as
  // they are in the order of a suffix array.
  void Add(std::span<const Token> continuation);

  // Returns up to `most` items with the highest counts, parents before children; among equals, the
  // earlier ones.
  std::vector<Item> MostFrequent(int most) const;
  int continuations() const { return continuations_; }

 private:
  std::vector<Item> items_;
  std::vector<int> path_;  // indices of the items on the path of the last continuation
  int continuations_ = 0;
};

}  // namespace foretoken
