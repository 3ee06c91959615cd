// A single run of tokens: what papers call a chain, or gamma draft tokens.
#include "tree/selection.h"

namespace foretoken {
namespace {

constexpr int kUnlimited = 1 << 20;

class Chain final : public TreePolicy {
 public:
  explicit Chain(int gamma) : gamma_(gamma) {}

  int Width() const override { return 1; }
  int DefaultNodes() const override { return gamma_ == kUnlimited ? 16 : gamma_ + 1; }

  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext&) const override {
    return NextStep(tree, fresh, gamma_);
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    std::vector<Node> kept{0};
    while (static_cast<int>(kept.size()) < context.limits.max_nodes) {
      const Node child = BestChild(tree, kept.back());
      if (child == kNoNode || tree.depth(child) > gamma_) break;
      kept.push_back(child);
    }
    return kept;
  }

 private:
  int gamma_;  // longest run
};

}  // namespace

const TreePolicy& ChainPolicy() {
  static const Chain policy(kUnlimited);
  return policy;
}

Result<std::unique_ptr<TreePolicy>> NewChain(OptionFields& options) {
  int gamma = kUnlimited;
  options.Int("gamma", gamma, 1, kUnlimited, "maximum tokens",
              {.fallback = "as many as the drafter offers"});
  return std::unique_ptr<TreePolicy>(std::make_unique<Chain>(gamma));
}

}  // namespace foretoken
