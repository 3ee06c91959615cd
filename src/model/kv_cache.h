// The keys and values of one sequence in one model.
//
// Rows [0, length) are committed: they belong to the sequence. Rows after them are provisional: a
// tree that is still being scored. Commit keeps one path of that tree and drops the rest. Keys are
// stored rotated, so a kept row never changes.
//
// Rows lie in pages of a pool. A cache takes them as its rows need them. Several caches may share
// the pages of a common prefix; a cache copies a shared page before it writes to it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/page_pool.h"

namespace foretoken {

class KvCache {
 public:
  // `usual`: a number of rows that is rarely exceeded; the list of pages is allocated for it.
  explicit KvCache(std::shared_ptr<PagePool> pool, int usual = 0);

  int length() const { return length_; }
  int provisional() const { return static_cast<int>(parents_.size()); }
  // Rows that the pages have room for.
  int capacity() const { return static_cast<int>(pages_.size()) * kPageRows; }
  DType type() const { return pool_->shape().type; }
  // Bytes of all pages that this cache holds, and, for own_bytes, of those that no other cache
  // holds.
  size_t bytes() const { return pages_.size() * pool_->page_bytes(); }
  size_t own_bytes() const;
  // This cache's share of the memory of its pages: each page is divided equally among its holders,
  // so that the shares of all holders add up to the memory in use.
  size_t bytes_share() const;
  // Bytes of the pages that `caches` hold, each page counted once.
  static size_t BytesTogether(std::span<const KvCache* const> caches);
  // [capacity, kv_heads * head_dim], divided into heads where heads are whole blocks of the type.
  // Valid until the cache takes or gives back pages.
  PagedRows Keys(int layer) const { return pool_->Keys(table_, layer); }
  PagedRows Values(int layer) const { return pool_->Values(table_, layer); }

  // Makes room for `rows` rows in all, and makes sure that rows after the committed ones lie in
  // pages that are not shared. This may take pages, which invalidates views of keys and values. A
  // drafter keeps such views from Observe to Propose, so no cache is reserved between the two.
  // Errors: out of memory, with the requested size, or the pool's limit is reached; the rows of the
  // cache are then unchanged.
  Status Reserve(int rows);

  // Adds one provisional row per parent and returns the first (0 right after a commit). A parent is
  // a provisional row, or kNoNode for a child of the committed sequence. Errors: those of Reserve.
  Result<int> Append(std::span<const Node> parents);

  // What the provisional rows [first, first + count) may attend to. The second form reuses the
  // memory of `out`.
  Visibility VisibleFrom(int first, int count) const;
  void VisibleFrom(int first, int count, Visibility& out) const;

  // Appends the provisional rows in `path` (strictly increasing, each the child of the one before)
  // to the committed sequence and drops every other provisional row. {} rolls back.
  void Commit(std::span<const Node> path);

  // Drops committed rows from `length` on and every provisional row (prefix reuse, rollback). Gives
  // back the pages that have only dropped rows.
  void Truncate(int length);

  // A cache with the first `length` committed rows. It shares the pages that these rows fill, and
  // has a copy of the rest. Errors: those of Reserve. REQUIRES: length <= length().
  Result<std::unique_ptr<KvCache>> Fork(int length) const;

 private:
  PagedRows Rows() const { return pool_->Rows(table_); }
  Status Grow(int rows);
  Status OwnTail();
  void Hold(Page page);
  void Resize(size_t pages);
  void Forget(int length);

  std::shared_ptr<PagePool> pool_;
  int length_ = 0;
  int run_ = 0;  // provisional rows [0, run_) are one path: each the child of the one before
  std::vector<Page> pages_;
  std::vector<std::byte*> table_;  // the pages' addresses
  std::vector<Node> parents_;      // of the provisional rows
  std::vector<int> moved_;         // scratch of Commit
};

}  // namespace foretoken
