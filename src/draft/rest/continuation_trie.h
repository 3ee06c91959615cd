// What follows in a corpus, as a trie with counts.
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
    int count;   // continuations that begin with the path to here
  };

  // Equal beginnings must come one after another, as they do in a suffix array.
  void Add(std::span<const Token> continuation);

  // The `most` most frequent items, the earlier of equals, parents before children.
  std::vector<Item> MostFrequent(int most) const;
  int continuations() const { return continuations_; }

 private:
  std::vector<Item> items_;
  std::vector<int> path_;  // the items of the last continuation
  int continuations_ = 0;
};

}  // namespace foretoken
