// Trees of a fixed shape (T-7, H-19, B-8): a node's place in the shape is its rank among its
// siblings, in the order in which they were offered.
#include <utility>

#include "tree/selection.h"
#include "tree/tree_shape.h"

namespace foretoken {
namespace {

// A level in the notation of the papers: the number of children of each node of the level above, in
// order. The children of a node have the ranks 0, 1, ...
using Level = std::vector<int>;

TreeShape FromLevels(const std::vector<Level>& levels) {
  std::vector<RankPath> parents{{}}, all;
  for (const Level& level : levels) {
    std::vector<RankPath> children;
    for (size_t p = 0; p < level.size(); ++p) {
      for (int rank = 0; rank < level[p]; ++rank) {
        children.push_back(parents[p]);
        children.back().push_back(rank);
      }
    }
    all.insert(all.end(), children.begin(), children.end());
    parents = std::move(children);
  }
  return *TreeShape::Create(all);
}

// EAGLE's 25 nodes: 4, 8, 8, 3, 2 by depth.
TreeShape EagleShape() { return FromLevels({{4}, {3, 2, 2, 1}, {3, 2, 2, 1}, {3}, {2}}); }

// Medusa's 63 nodes (mc_sim_7b_63): 10, 28, 23, 2 by depth. The nodes of depth 3 are children of
// (0,0) to (0,7), (1,0) and (2,0); (0) has ten children, (1) has seven.
TreeShape MedusaShape() {
  return FromLevels({{10},
                     {10, 7, 3, 2, 1, 1, 1, 1, 1, 1},
                     {10, 3, 2, 1, 1, 1, 1, 1, 0, 0, /*(1)*/ 2, 0, 0, 0, 0, 0, 0, /*(2)*/ 1},
                     {2}});
}

class StaticTree final : public TreePolicy {
 public:
  explicit StaticTree(TreeShape shape) : shape_(std::move(shape)) {}

  int Width() const override { return shape_.width(); }
  int DefaultNodes() const override { return shape_.size(); }

  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext&) const override {
    const std::vector<int> place = Places(tree);
    std::vector<Node> inner;
    for (Node n : fresh) {
      if (place[n] >= 0 && shape_.HasChildren(place[n])) inner.push_back(n);
    }
    return inner;
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    const std::vector<int> place = Places(tree);
    std::vector<bool> wanted(place.size());
    for (size_t n = 0; n < place.size(); ++n) wanted[n] = place[n] >= 0;
    return KeepBest(tree, wanted, context.limits.max_nodes);
  }

 private:
  // Each node's place in the shape, or -1.
  std::vector<int> Places(const CandidateTree& tree) const {
    std::vector<int> place(static_cast<size_t>(tree.size()), -1);
    place[0] = 0;
    for (Node n = 0; n < tree.size(); ++n) {
      if (place[n] < 0) continue;
      int rank = 0;
      for (Node c = tree.FirstChild(n); c != kNoNode; c = tree.NextSibling(c)) {
        if (tree.offered(c)) {
          place[c] = shape_.Child(place[n], rank++);
        }
      }
    }
    return place;
  }

  TreeShape shape_;
};

Result<std::unique_ptr<TreePolicy>> NewStatic(OptionFields& options, const TreeShape& shape) {
  int depth = shape.depth();
  options.Int("depth", depth, 1, 1 << 20, "levels of the tree that are kept", {.fallback = "all"});
  return std::unique_ptr<TreePolicy>(std::make_unique<StaticTree>(shape.CutTo(depth)));
}

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewEagleTree(OptionFields& options) {
  return NewStatic(options, EagleShape());
}

Result<std::unique_ptr<TreePolicy>> NewMedusaTree(OptionFields& options) {
  return NewStatic(options, MedusaShape());
}

Result<std::unique_ptr<TreePolicy>> NewStaticTree(OptionFields& options) {
  std::string file;
  options.Text("file", file, "a file", "the tree, one rank path per line",
               {.fallback = "none: EAGLE's tree"});
  if (file.empty()) return NewStatic(options, EagleShape());
  FT_ASSIGN_OR_RETURN(const TreeShape shape, TreeShape::Read(file));
  return NewStatic(options, shape);
}

}  // namespace foretoken
