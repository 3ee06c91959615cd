// Keys and values of one sequence under one model.
//
// Rows [0, length) are committed: a plain sequence. Rows after them are provisional: a tree that is
// still being scored. Commit keeps one path of that tree and forgets the rest; keys are stored
// rotated, so a kept row never changes.
#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"

namespace foretoken {

class KvCache {
 public:
  // type: f32, f16, bf16 or q8_0. capacity: most rows, committed and provisional together.
  // REQUIRES: kv_heads * head_dim is a multiple of the type's block.
  KvCache(Backend& backend, DType type, int layers, int kv_heads, int head_dim, int capacity);

  int length() const { return length_; }
  int provisional() const { return static_cast<int>(parents_.size()); }
  int capacity() const { return capacity_; }
  DType type() const { return type_; }
  size_t bytes() const;
  // [capacity, kv_heads * head_dim], in groups of a head where heads are whole blocks.
  Tensor Keys(int layer) const { return keys_[layer].tensor; }
  Tensor Values(int layer) const { return values_[layer].tensor; }

  // Reserves one provisional row per parent and returns the first (0 right after a commit). A
  // parent is a provisional row, or kNoNode for a child of the committed sequence. REQUIRES:
  // length() + provisional() + parents.size() <= capacity().
  int Append(std::span<const Node> parents);

  // What the provisional rows [first, first + count) may attend to. The second form reuses the
  // memory of `out`.
  Visibility VisibleFrom(int first, int count) const;
  void VisibleFrom(int first, int count, Visibility& out) const;

  // Appends the provisional rows in `path` (strictly increasing, each the child of the one before)
  // to the committed sequence and drops every other provisional row. {} rolls back.
  void Commit(std::span<const Node> path);

  // Forgets committed rows from `length` on, and every provisional one (prefix reuse, rollback).
  void Truncate(int length);

 private:
  Backend& backend_;
  DType type_;
  int capacity_;
  int length_ = 0;
  int run_ = 0;  // provisional rows [0, run_) are one path: each the child of the one before
  std::vector<Buffer> keys_, values_;  // [layers]
  std::vector<Node> parents_;          // of the provisional rows
  std::vector<int> moved_;             // scratch of Commit
};

}  // namespace foretoken
