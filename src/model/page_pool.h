// Memory of key/value caches, in pages that caches may share.
//
// A page holds kPageRows positions of every layer: per layer the keys of each head, then the values
// of each head, each a matrix [kPageRows, head_dim] of its own, so that attention reads a head's
// rows sequentially.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/backend.h"

namespace foretoken {

struct PageShape {
  DType type = DType::kF32;  // f32, f16, bf16 or q8_0
  int layers = 0, kv_heads = 0, head_dim = 0;
};

// A reference to a page. A page without references goes back to its pool.
class Page {
 public:
  Page() = default;
  std::byte* data() const { return data_.get(); }
  // Whether there are other references. A shared page must not be written to.
  bool is_shared() const { return holders() > 1; }
  int64_t holders() const { return data_.use_count(); }

 private:
  friend class PagePool;
  explicit Page(std::shared_ptr<std::byte> data) : data_(std::move(data)) {}

  std::shared_ptr<std::byte> data_;
};

// Pages of one shape. The contents of a new page are undefined: zeros, or what its last holder
// wrote. The pool lives as long as its pages, and keeps the memory that it has taken from the
// backend for later pages. Thread-safety: one thread, that of the pages' holders.
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  // REQUIRES: kv_heads * head_dim is a multiple of the type's block. `backend` must outlive the
  // pool.
  static std::shared_ptr<PagePool> Create(Backend& backend, const PageShape& shape);

  Backend& backend() const { return backend_; }
  const PageShape& shape() const { return shape_; }
  size_t page_bytes() const { return page_bytes_; }

  // Takes a page. Errors: out of memory, the limit is reached.
  Result<Page> Take();

  // The limit on the bytes of pages that the pool takes from the backend, in use or not; 0: no
  // limit. Pages that it has already taken beyond the limit stay.
  void set_limit(int64_t bytes) { limit_ = bytes; }
  int64_t limit() const { return limit_; }
  // Bytes of the pages that the pool has taken from the backend, and of those in use.
  int64_t bytes_held() const { return held_ * static_cast<int64_t>(page_bytes_); }
  int64_t bytes_in_use() const {
    return (held_ - std::ssize(free_)) * static_cast<int64_t>(page_bytes_);
  }
  // Bytes of the pages that Take can still return within the limit; INT64_MAX without a limit.
  int64_t bytes_left() const;

  // Views of `pages` as rows. Rows() has 2 * layers * kv_heads groups: for each layer, the keys of
  // each head and then the values. If a head is not a whole number of blocks of the type, all heads
  // of a layer form one group, and Rows() has 2 * layers groups. Keys() and Values() are the groups
  // of one layer.
  PagedRows Rows(std::span<std::byte* const> pages) const;
  PagedRows Keys(std::span<std::byte* const> pages, int layer) const;
  PagedRows Values(std::span<std::byte* const> pages, int layer) const;

 private:
  PagePool(Backend& backend, const PageShape& shape);
  // Takes `pages` more pages from the backend.
  Status Grow(int64_t pages);
  int64_t Cols() const { return int64_t{shape_.kv_heads} * shape_.head_dim; }

  Backend& backend_;
  PageShape shape_;
  int64_t group_;  // columns of a group: a head, or all of a layer
  size_t page_bytes_;
  int64_t limit_ = 0;
  int64_t held_ = 0;              // pages
  std::vector<Buffer> memory_;    // each of several pages
  std::vector<std::byte*> free_;  // a stack: the last one is taken next
};

}  // namespace foretoken
