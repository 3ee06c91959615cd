#include "model/kv_cache.h"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>

#include "base/division.h"

namespace foretoken {
namespace {

constexpr int64_t kGrain = 64;         // capacities are multiples of it
constexpr int64_t kLeastGrowth = 256;  // rows: a short answer grows once or twice

}  // namespace

KvCache::KvCache(Backend& backend, DType type, int layers, int kv_heads, int head_dim, int usual)
    : backend_(backend),
      type_(type),
      cols_(int64_t{kv_heads} * head_dim),
      group_(head_dim % BlockElements(type) == 0 ? head_dim : cols_),
      usual_(usual),
      keys_(static_cast<size_t>(layers)),
      values_(static_cast<size_t>(layers)) {
  FT_CHECK(usual > 0 && cols_ % BlockElements(type) == 0);
}

size_t KvCache::BytesFor(int rows) const {
  const size_t row_bytes = static_cast<size_t>(cols_ / group_) * RowBytes(type_, group_);
  return 2 * keys_.size() * static_cast<size_t>(rows) * row_bytes;
}

size_t KvCache::bytes() const { return BytesFor(capacity_); }

Status KvCache::Reserve(int rows) {
  if (rows <= capacity_) return {};
  const int64_t least = RoundUp(int64_t{rows}, kGrain);
  const int64_t usual = RoundUp(int64_t{usual_}, kGrain);
  const int64_t more = capacity_ < usual
                           ? std::min(usual, std::max(int64_t{2} * capacity_, kLeastGrowth))
                           : capacity_ + kLeastGrowth;
  const int64_t wanted = std::max(least, more);
  if (wanted > least && wanted <= INT_MAX && Grow(static_cast<int>(wanted)).ok()) return {};
  return Grow(static_cast<int>(std::min<int64_t>(least, INT_MAX)));
}

// Layer by layer, so that no more than one layer's rows are there twice.
Status KvCache::Grow(int rows) {
  for (std::vector<Buffer>* buffers : {&keys_, &values_}) {
    for (Buffer& buffer : *buffers) {
      const Status grown = GrowBuffer(rows, buffer);
      if (grown.ok()) continue;
      return Error{"the keys and values of " + std::to_string(rows) + " tokens take " +
                   std::to_string((BytesFor(rows) >> 20) + 1) + " MiB: " + grown.error().message};
    }
  }
  capacity_ = rows;
  return {};
}

Status KvCache::GrowBuffer(int rows, Buffer& buffer) {
  if (buffer.tensor.rows >= rows) return {};  // by a growth that failed further on
  FT_ASSIGN_OR_RETURN(Buffer larger, backend_.AllocateGroups(type_, rows, cols_, group_));
  const int held = length_ + provisional();
  if (held > 0) backend_.CopyRows(buffer.tensor.Rows(0, held), larger.tensor.Rows(0, held));
  buffer = std::move(larger);
  return {};
}

Result<int> KvCache::Append(std::span<const Node> parents) {
  const int first = provisional();
  FT_RETURN_IF_ERROR(Reserve(length_ + first + static_cast<int>(parents.size())));
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

Result<std::unique_ptr<KvCache>> KvCache::Fork(int length) const {
  FT_CHECK(0 <= length && length <= length_);
  auto fork =
      std::make_unique<KvCache>(backend_, type_, static_cast<int>(keys_.size()),
                                static_cast<int>(cols_ / group_), static_cast<int>(group_), usual_);
  FT_RETURN_IF_ERROR(fork->Reserve(length));
  fork->length_ = length;
  if (length == 0) return fork;
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    backend_.CopyRows(keys_[layer].tensor.Rows(0, length),
                      fork->keys_[layer].tensor.Rows(0, length));
    backend_.CopyRows(values_[layer].tensor.Rows(0, length),
                      fork->values_[layer].tensor.Rows(0, length));
  }
  return fork;
}

}  // namespace foretoken
