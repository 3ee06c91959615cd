#include "model/kv_cache.h"

#include <algorithm>

namespace foretoken {

KvCache::KvCache(Backend& backend, DType type, int layers, int kv_heads, int head_dim, int capacity)
    : backend_(backend), type_(type), capacity_(capacity) {
  const int kv_cols = kv_heads * head_dim;
  FT_CHECK(capacity > 0 && kv_cols % BlockElements(type) == 0);
  const int group = head_dim % BlockElements(type) == 0 ? head_dim : kv_cols;
  keys_.reserve(static_cast<size_t>(layers));
  values_.reserve(static_cast<size_t>(layers));
  for (int layer = 0; layer < layers; ++layer) {
    keys_.push_back(backend.AllocateGroups(type, capacity, kv_cols, group));
    values_.push_back(backend.AllocateGroups(type, capacity, kv_cols, group));
  }
}

size_t KvCache::bytes() const {
  size_t total = 0;
  for (const std::vector<Buffer>* buffers : {&keys_, &values_}) {
    for (const Buffer& b : *buffers) {
      total += b.tensor.groups() * b.tensor.rows * b.tensor.row_bytes;
    }
  }
  return total;
}

int KvCache::Append(std::span<const Node> parents) {
  const int first = provisional();
  FT_CHECK(length_ + first + static_cast<int>(parents.size()) <= capacity_);
  for (const Node parent : parents) {
    const Node node = provisional();
    FT_CHECK(kNoNode <= parent && parent < node);
    // kNoNode is one less than node 0, so a chain is recognised from its first row on.
    if (run_ == node && parent == node - 1) ++run_;
    parents_.push_back(parent);
  }
  return first;
}

Visibility KvCache::VisibleFrom(int first, int count) const {
  Visibility visible;
  VisibleFrom(first, count, visible);
  return visible;
}

void KvCache::VisibleFrom(int first, int count, Visibility& out) const {
  FT_CHECK(0 <= first && 0 <= count && first + count <= provisional());
  out.committed = length_;
  out.run.clear();
  out.chain.clear();
  out.begin.assign(1, 0);
  for (Node node = first; node < first + count; ++node) {
    Node ancestor = node;
    for (; ancestor >= run_; ancestor = parents_[ancestor]) out.chain.push_back(ancestor);
    std::reverse(out.chain.begin() + out.begin.back(), out.chain.end());
    out.run.push_back(ancestor + 1);  // 0 when the path left the tree without meeting the run
    out.begin.push_back(static_cast<int>(out.chain.size()));
  }
}

void KvCache::Commit(std::span<const Node> path) {
  const int kept = static_cast<int>(path.size());
  moved_.clear();
  for (int i = 0; i < kept; ++i) {
    FT_CHECK(0 <= path[i] && path[i] < provisional());
    FT_CHECK(parents_[path[i]] == (i == 0 ? kNoNode : path[i - 1]));
    if (path[i] != i) moved_.push_back(length_ + path[i]);
  }
  // Rows ascend, so the ones that stay where they are come first.
  const int to = length_ + kept - static_cast<int>(moved_.size());
  if (!moved_.empty()) {
    for (const Buffer& keys : keys_) backend_.CompactRows(keys.tensor, moved_, to);
    for (const Buffer& values : values_) backend_.CompactRows(values.tensor, moved_, to);
  }
  length_ += kept;
  parents_.clear();
  run_ = 0;
}

void KvCache::Truncate(int length) {
  FT_CHECK(0 <= length && length <= length_);
  length_ = length;
  parents_.clear();
  run_ = 0;
}

}  // namespace foretoken
