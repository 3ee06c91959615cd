// The shape of a static tree: for each node, the ranks of its continuations that are scored.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// Ranks from the root down: {0, 2} is the third-best child of the best child.
using RankPath = std::vector<int>;

// A tree of ranks. Node 0 is the root.
class TreeShape {
 public:
  // `paths`: every node but the root, in any order. Errors (which name the node): a node without
  // its parent, a node given twice.
  static Result<TreeShape> Create(std::span<const RankPath> paths);
  // Reads a file with one node per line: its ranks from the root, counted from 0 and separated by
  // commas; '#' begins a comment. Errors name the file and the line.
  static Result<TreeShape> Read(const std::string& path);

  int size() const { return static_cast<int>(nodes_.size()); }
  int width() const { return width_; }  // highest rank + 1
  int depth() const;
  bool HasChildren(int node) const { return !nodes_[node].children.empty(); }
  // The child of `node` with rank `rank`, or -1.
  int Child(int node, int rank) const;
  // A copy without the nodes deeper than `depth`.
  TreeShape CutTo(int depth) const;

 private:
  struct Item {
    int depth = 0;
    std::vector<std::pair<int, int>> children;  // rank, node
  };
  TreeShape() : nodes_(1) {}
  int Add(int parent, int rank);

  std::vector<Item> nodes_;
  int width_ = 0;
};

}  // namespace foretoken
