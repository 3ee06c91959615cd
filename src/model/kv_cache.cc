#include "model/kv_cache.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/division.h"

namespace foretoken {

KvCache::KvCache(std::shared_ptr<PagePool> pool, int usual) : pool_(std::move(pool)) {
  const auto pages = static_cast<size_t>(DivideUp(std::max(usual, 0), kPageRows));
  pages_.reserve(pages);
  table_.reserve(pages);
}

size_t KvCache::own_bytes() const {
  const auto own = std::ranges::count_if(pages_, [](const Page& p) { return !p.is_shared(); });
  return static_cast<size_t>(own) * pool_->page_bytes();
}

size_t KvCache::bytes_share() const {
  size_t sum = 0;
  for (const Page& page : pages_) sum += pool_->page_bytes() / static_cast<size_t>(page.holders());
  return sum;
}

size_t KvCache::BytesTogether(std::span<const KvCache* const> caches) {
  std::vector<std::pair<const std::byte*, size_t>> pages;
  for (const KvCache* cache : caches) {
    for (const std::byte* page : cache->table_)
      pages.emplace_back(page, cache->pool_->page_bytes());
  }
  std::ranges::sort(pages);
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  size_t sum = 0;
  for (const auto& [page, bytes] : pages) sum += bytes;
  return sum;
}

Status KvCache::Reserve(int rows) {
  const size_t held = pages_.size();
  Status status = Grow(rows);
  if (status.ok()) status = OwnTail();
  if (status.ok()) return {};
  Resize(held);
  const size_t bytes =
      static_cast<size_t>(DivideUp(int64_t{rows}, int64_t{kPageRows})) * pool_->page_bytes();
  return Error{"the keys and values of " + std::to_string(rows) + " tokens take " +
               std::to_string((bytes >> 20) + 1) + " MiB: " + status.error().message};
}

Status KvCache::Grow(int rows) {
  while (std::ssize(pages_) * kPageRows < rows) {
    FT_ASSIGN_OR_RETURN(Page page, pool_->Take());
    Hold(std::move(page));
  }
  return {};
}

// If the page in which the committed rows end is shared, replaces it by a copy, because the next
// rows are written to it. The pages after it are never shared: Truncate gives them back.
Status KvCache::OwnTail() {
  const auto tail = static_cast<size_t>(length_ / kPageRows);
  if (tail >= pages_.size() || !pages_[tail].is_shared()) return {};
  FT_ASSIGN_OR_RETURN(Page own, pool_->Take());
  const std::array from{table_[tail]}, to{own.data()};
  pool_->backend().CopyRows(pool_->Rows(from), pool_->Rows(to), 0, length_ % kPageRows);
  table_[tail] = own.data();
  pages_[tail] = std::move(own);
  return {};
}

void KvCache::Hold(Page page) {
  table_.push_back(page.data());
  pages_.push_back(std::move(page));
}

// Gives back pages from `pages` on.
void KvCache::Resize(size_t pages) {
  while (pages_.size() > pages) pages_.pop_back();  // last page first: Take reuses them in order
  table_.resize(pages);
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
    out.run.push_back(ancestor + 1);  // 0 where the path does not touch the run
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
  // Rows ascend, so those that stay in place come first.
  const int to = length_ + kept - static_cast<int>(moved_.size());
  if (!moved_.empty()) pool_->backend().CompactRows(Rows(), moved_, to);
  Forget(length_ + kept);
}

void KvCache::Truncate(int length) {
  FT_CHECK(0 <= length && length <= length_);
  Forget(length);
  Resize(static_cast<size_t>(DivideUp(length, kPageRows)));
}

// Drops provisional rows, and committed rows from `length` on.
void KvCache::Forget(int length) {
  length_ = length;
  parents_.clear();
  run_ = 0;
}

Result<std::unique_ptr<KvCache>> KvCache::Fork(int length) const {
  FT_CHECK(0 <= length && length <= length_);
  auto fork = std::make_unique<KvCache>(pool_, static_cast<int>(pages_.capacity()) * kPageRows);
  const int whole = length / kPageRows;
  for (int i = 0; i < whole; ++i) fork->Hold(pages_[static_cast<size_t>(i)]);
  const int shared = whole * kPageRows;
  fork->length_ = shared;
  FT_RETURN_IF_ERROR(fork->Reserve(length));
  if (length > shared) pool_->backend().CopyRows(Rows(), fork->Rows(), shared, length - shared);
  fork->length_ = length;
  return fork;
}

}  // namespace foretoken
