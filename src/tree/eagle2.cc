// EAGLE-2's dynamic tree (H-20, H-21): every level expands its top_k likeliest nodes; then the
// likeliest of all offered nodes are scored.
#include <algorithm>

#include "tree/selection.h"

namespace foretoken {
namespace {

class Eagle2 final : public TreePolicy {
 public:
  Eagle2(int total, int depth, int top_k) : total_(total), depth_(depth), top_k_(top_k) {}

  int Width() const override { return top_k_; }
  int DefaultNodes() const override { return total_; }

  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext&) const override {
    std::vector<Node> inner(fresh.begin(), fresh.end());
    std::erase_if(inner, [&](Node n) { return tree.depth(n) > depth_; });
    return Best(tree, std::move(inner), static_cast<size_t>(top_k_));
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    return KeepBest(tree, Candidates(tree), std::min(total_, context.limits.max_nodes));
  }

 private:
  int total_;  // nodes kept, root included (H-6)
  int depth_;  // levels expanded after the root; nodes reach one level deeper (H-5)
  int top_k_;
};

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewEagle2(OptionFields& options) {
  int total = 60, depth = 5, top_k = 10;
  options.Int("total_token", total, 2, 512, "nodes kept, including the root");
  options.Int("depth", depth, 0, 64, "levels expanded after the root");
  options.Int("top_k", top_k, 1, 64, "nodes expanded per level, and children of each");
  return std::unique_ptr<TreePolicy>(std::make_unique<Eagle2>(total, depth, top_k));
}

}  // namespace foretoken
