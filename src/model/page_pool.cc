#include "model/page_pool.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace foretoken {
namespace {

// The number of pages taken from the backend at once: as many as the pool already holds, but at
// least kLeastPages, and at most kMostPages or kMostBytes, whichever is more. Allocations of
// several megabytes lie on huge pages of the system, whose unused parts take no memory.
constexpr int64_t kLeastPages = 4, kMostPages = 16, kMostBytes = int64_t{16} << 20;

}  // namespace

std::shared_ptr<PagePool> PagePool::Create(Backend& backend, const PageShape& shape) {
  return std::shared_ptr<PagePool>(new PagePool(backend, shape));
}

PagePool::PagePool(Backend& backend, const PageShape& shape) : backend_(backend), shape_(shape) {
  FT_CHECK(shape.layers > 0 && Cols() > 0 && Cols() % BlockElements(shape.type) == 0);
  group_ = shape.head_dim % BlockElements(shape.type) == 0 ? shape.head_dim : Cols();
  const PagedRows all = Rows({});
  page_bytes_ = static_cast<size_t>(all.groups() * all.group_bytes);
}

Result<Page> PagePool::Take() {
  if (free_.empty()) {
    const auto bytes = static_cast<int64_t>(page_bytes_);
    const int64_t wanted = std::clamp(held_, kLeastPages, std::max(kMostPages, kMostBytes / bytes));
    const int64_t room = bytes_left() / bytes;
    if (room == 0) {
      return Error{"out of memory: keys and values may take " + std::to_string(limit_ >> 20) +
                   " MiB, which are in use"};
    }
    const int64_t pages = std::min(wanted, room);
    Status grown = Grow(pages);
    if (!grown.ok() && pages > 1) grown = Grow(1);
    FT_RETURN_IF_ERROR(grown);
  }
  std::byte* const data = free_.back();
  free_.pop_back();
  return Page(std::shared_ptr<std::byte>(
      data, [pool = shared_from_this()](std::byte* p) { pool->free_.push_back(p); }));
}

Status PagePool::Grow(int64_t pages) {
  const PagedRows all = Rows({});
  FT_ASSIGN_OR_RETURN(Buffer memory,
                      backend_.Allocate(shape_.type, pages * all.groups() * kPageRows, group_));
  free_.reserve(static_cast<size_t>(held_ + pages));  // so that giving back a page never allocates
  // The first of the new pages is the next to be taken.
  for (int64_t i = pages - 1; i >= 0; --i) {
    free_.push_back(memory.tensor.data + i * static_cast<int64_t>(page_bytes_));
  }
  held_ += pages;
  memory_.push_back(std::move(memory));
  return {};
}

int64_t PagePool::bytes_left() const {
  if (limit_ == 0) return INT64_MAX;
  const int64_t spare = std::ssize(free_) * static_cast<int64_t>(page_bytes_);
  return std::max<int64_t>(0, limit_ - bytes_held()) + spare;
}

PagedRows PagePool::Rows(std::span<std::byte* const> pages) const {
  return PackedRows(pages, shape_.type, 2 * shape_.layers * Cols(), group_);
}

PagedRows PagePool::Keys(std::span<std::byte* const> pages, int layer) const {
  const int64_t groups = Cols() / group_;
  return Rows(pages).Groups(2 * layer * groups, groups);
}

PagedRows PagePool::Values(std::span<std::byte* const> pages, int layer) const {
  const int64_t groups = Cols() / group_;
  return Rows(pages).Groups((2 * layer + 1) * groups, groups);
}

}  // namespace foretoken
