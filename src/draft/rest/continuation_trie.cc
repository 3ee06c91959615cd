#include "draft/rest/continuation_trie.h"

#include <algorithm>
#include <numeric>

namespace foretoken {

void ContinuationTrie::Add(std::span<const Token> continuation) {
  ++continuations_;
  size_t shared = 0;
  while (shared < std::min(path_.size(), continuation.size()) &&
         items_[static_cast<size_t>(path_[shared])].token == continuation[shared]) {
    ++items_[static_cast<size_t>(path_[shared++])].count;
  }
  path_.resize(shared);
  for (const Token token : continuation.subspan(shared)) {
    items_.push_back({token, path_.empty() ? -1 : path_.back(), 1});
    path_.push_back(static_cast<int>(items_.size()) - 1);
  }
}

// A child comes after its parent and never has a higher count, so the most frequent items always
// include their parents.
std::vector<ContinuationTrie::Item> ContinuationTrie::MostFrequent(int most) const {
  std::vector<int> order(items_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<std::ptrdiff_t>(most, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(), [this](int a, int b) {
    const int count_a = items_[static_cast<size_t>(a)].count,
              count_b = items_[static_cast<size_t>(b)].count;
    return count_a != count_b ? count_a > count_b : a < b;
  });
  order.erase(end, order.end());
  std::sort(order.begin(), order.end());
  std::vector<Item> kept;
  kept.reserve(order.size());
  for (const int index : order) {
    Item item = items_[static_cast<size_t>(index)];
    if (item.parent >= 0) {
      const auto parent = std::lower_bound(order.begin(), order.end(), item.parent);
      item.parent = static_cast<int>(parent - order.begin());
    }
    kept.push_back(item);
  }
  return kept;
}

}  // namespace foretoken
