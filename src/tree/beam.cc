// Beam search (T-9): every level keeps its `beams` likeliest paths; the paths of the last level are
// scored with their prefixes.
#include <algorithm>

#include "tree/selection.h"

namespace foretoken {
namespace {

class BeamSearch final : public TreePolicy {
 public:
  BeamSearch(int beams, int steps) : beams_(beams), steps_(steps) {}

  int Width() const override { return beams_; }
  int DefaultNodes() const override { return 1 + beams_ * steps_; }

  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext&) const override {
    std::vector<Node> inner(fresh.begin(), fresh.end());
    std::erase_if(inner, [&](Node n) { return tree.depth(n) >= steps_; });
    return Best(tree, std::move(inner), static_cast<size_t>(beams_));
  }

  // The final beams are the deepest nodes and, at equal depth, the likeliest. If fewer paths reach
  // that depth, shorter paths take the remaining places; this happens if runs of different lengths
  // are offered.
  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    const std::vector<bool> candidate = Candidates(tree);
    std::vector<Node> order;
    for (Node n = 1; n < tree.size(); ++n) {
      if (candidate[n] && tree.depth(n) <= steps_) order.push_back(n);
    }
    std::sort(order.begin(), order.end(), [&](Node a, Node b) {
      return tree.depth(a) != tree.depth(b) ? tree.depth(a) > tree.depth(b) : Better(tree, a, b);
    });
    std::vector<bool> wanted(candidate.size());
    wanted[0] = true;
    int beams = 0;
    for (Node n : order) {
      if (wanted[n] || beams == beams_) continue;  // a prefix of a beam is not a beam itself
      ++beams;
      for (; !wanted[n]; n = tree.parent(n)) wanted[n] = true;
    }
    return KeepBest(tree, wanted, context.limits.max_nodes);
  }

 private:
  int beams_, steps_;
};

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewBeamSearch(OptionFields& options) {
  int beams = 4, steps = 4;
  options.Int("beams", beams, 1, 64, "paths kept per level");
  options.Int("steps", steps, 1, 64, "levels");
  return std::unique_ptr<TreePolicy>(std::make_unique<BeamSearch>(beams, steps));
}

}  // namespace foretoken
