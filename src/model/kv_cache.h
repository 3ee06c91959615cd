// Keys and values of one sequence under one model.
//
// Rows [0, length) are committed: a plain sequence. Rows after them are provisional: a tree that is
// still being scored. Commit keeps one path of that tree and forgets the rest; keys are stored
// rotated, so a kept row never changes.
//
// Memory grows with the rows that are held: whatever the longest sequence might be, only what is
// used of it is reserved.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace foretoken {

class KvCache {
 public:
  // type: f32, f16, bf16 or q8_0. usual: rows that will hardly ever be exceeded, at which growth by
  // doubling stops for the time being. REQUIRES: kv_heads * head_dim is a multiple of the type's
  // block; usual >= 1.
  KvCache(Backend& backend, DType type, int layers, int kv_heads, int head_dim, int usual);

  int length() const { return length_; }
  int provisional() const { return static_cast<int>(parents_.size()); }
  int capacity() const { return capacity_; }  // rows that there is memory for
  DType type() const { return type_; }
  size_t bytes() const;
  // [capacity or more, kv_heads * head_dim], in groups of a head where heads are whole blocks.
  // Valid until the cache grows.
  Tensor Keys(int layer) const { return keys_[layer].tensor; }
  Tensor Values(int layer) const { return values_[layer].tensor; }

  // Makes room for `rows` rows in all. What the cache holds keeps its bits. Errors: out of memory,
  // with the size asked for; the cache holds what it held.
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

  // Forgets committed rows from `length` on, and every provisional one (prefix reuse, rollback).
  void Truncate(int length);

  // A cache of its own that holds the first `length` committed rows, with their bits. Errors: out
  // of memory. REQUIRES: length <= length().
  Result<std::unique_ptr<KvCache>> Fork(int length) const;

 private:
  Status Grow(int rows);
  Status GrowBuffer(int rows, Buffer& buffer);
  size_t BytesFor(int rows) const;

  Backend& backend_;
  DType type_;
  int64_t cols_, group_;  // kv_heads * head_dim; columns that lie together
  int usual_;
  int capacity_ = 0;
  int length_ = 0;
  int run_ = 0;  // provisional rows [0, run_) are one path: each the child of the one before
  std::vector<Buffer> keys_, values_;  // [layers]
  std::vector<Node> parents_;          // of the provisional rows
  std::vector<int> moved_;             // scratch of Commit
};

}  // namespace foretoken
