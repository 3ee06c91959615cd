// The full tree of a width and a depth (VCT, T-8).
#include "tree/selection.h"

namespace foretoken {
namespace {

class FullTree final : public TreePolicy {
 public:
  FullTree(int width, int depth) : width_(width), depth_(depth) {}

  int Width() const override { return width_; }

  // Nodes of the whole tree. The count stops at kEnough, beyond what any pass could score.
  int DefaultNodes() const override {
    constexpr int kEnough = 1 << 20;
    int nodes = 1, level = 1;
    for (int d = 0; d < depth_ && nodes < kEnough; ++d) nodes += level *= width_;
    return nodes;
  }

  // A level of more than max_nodes nodes could not be scored whole, so only its best nodes are
  // expanded.
  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext& context) const override {
    std::vector<Node> inner(fresh.begin(), fresh.end());
    std::erase_if(inner, [&](Node n) { return tree.depth(n) >= depth_; });
    return Best(tree, std::move(inner), static_cast<size_t>(context.limits.max_nodes));
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    std::vector<bool> wanted = Candidates(tree);
    for (Node n = 0; n < tree.size(); ++n) wanted[n] = wanted[n] && tree.depth(n) <= depth_;
    return KeepBest(tree, wanted, context.limits.max_nodes);
  }

 private:
  int width_, depth_;
};

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewFullTree(OptionFields& options) {
  int width = 3, depth = 5;
  options.Int("width", width, 1, 64, "children of each node");
  options.Int("depth", depth, 1, 64, "levels");
  return std::unique_ptr<TreePolicy>(std::make_unique<FullTree>(width, depth));
}

}  // namespace foretoken
