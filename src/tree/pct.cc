// PCT (E-20, E-21): a node is expanded while its expected saving exceeds the cost of the drafting
// step, and unlikely leaves are not scored.
#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json.h"
#include "tree/selection.h"

namespace foretoken {
namespace {

// The ratio s_d / s_t of seconds of a drafting step to seconds of a target pass, for the paper's 7B
// model. Assumed until something is measured.
constexpr float kPaperRatio = 1.1f / 29.8f;

struct PctRule {
  int width = 5, max_depth = 10;
  std::optional<float> expand;  // s_d / s_t; nothing: the measured ratio
  float leaf = 0.01f;
  bool own_confidence = false;  // ablation: expand by the node's own probability, not the path's
  bool author = false;          // like the authors' code (E-3, E-4, E-5)
};

class Pct final : public TreePolicy {
 public:
  explicit Pct(const PctRule& rule) : rule_(rule) {}

  int Width() const override { return rule_.width; }
  int DefaultNodes() const override { return 128; }
  bool UsesEconomy() const override { return !rule_.expand; }

  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext& context) const override {
    std::vector<Node> inner(fresh.begin(), fresh.end());
    const float threshold = LogThreshold(context);
    std::erase_if(inner, [&](Node n) {
      return tree.depth(n) >= rule_.max_depth || !Passes(tree, n, threshold);
    });
    return Best(tree, std::move(inner), static_cast<size_t>(context.limits.max_nodes));
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    std::vector<bool> wanted = Candidates(tree);
    if (rule_.author) {
      KeepAsAuthors(tree, LogThreshold(context), wanted);
    } else {
      RemoveLeaves(tree, wanted);
    }
    std::vector<Node> kept = KeepBest(tree, wanted, context.limits.max_nodes);
    if (kept.size() > 1 || context.limits.max_nodes < 2) return kept;
    if (const Node best = BestChild(tree, 0); best != kNoNode) kept.push_back(best);
    return kept;
  }

 private:
  // The threshold of `expand` as a logarithm, because nodes carry log-probabilities.
  float LogThreshold(const TreeContext& context) const {
    if (rule_.expand) return std::log(*rule_.expand);
    if (context.economy == nullptr) return std::log(kPaperRatio);
    const int part = context.part();
    const double step =
        context.economy->DraftSeconds(part, 1) - context.economy->DraftSeconds(part, 0);
    return static_cast<float>(std::log(std::max(step, 0.0) / context.economy->VerifySeconds(1)));
  }

  bool Passes(const CandidateTree& tree, Node n, float log_threshold) const {
    return n == 0 || (rule_.own_confidence ? tree.log_q(n) : tree.score(n)) > log_threshold;
  }

  // A child is never likelier than its parent, so removing unlikely leaves until none is left
  // removes every unlikely node.
  void RemoveLeaves(const CandidateTree& tree, std::vector<bool>& wanted) const {
    const float log_leaf = std::log(rule_.leaf);
    for (Node n = 1; n < tree.size(); ++n) wanted[n] = wanted[n] && tree.score(n) >= log_leaf;
  }

  // Prunes like the authors' code. If no node of the last level would be expanded, only the best
  // child of each node stays on that level. If max_depth ended drafting, the nodes that would be
  // expanded further are lost.
  void KeepAsAuthors(const CandidateTree& tree, float log_threshold,
                     std::vector<bool>& wanted) const {
    const int last = tree.max_depth();
    bool goes_on = false;
    for (Node n = 1; n < tree.size(); ++n) {
      goes_on = goes_on || (wanted[n] && tree.depth(n) == last && Passes(tree, n, log_threshold));
    }
    for (Node n = 1; n < tree.size(); ++n) {
      if (tree.depth(n) != last) continue;
      const bool stays = goes_on ? last < rule_.max_depth || !Passes(tree, n, log_threshold)
                                 : n == BestChild(tree, tree.parent(n));
      wanted[n] = wanted[n] && stays;
    }
  }

  PctRule rule_;
};

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewPct(OptionFields& options) {
  PctRule rule;
  options.Int("width", rule.width, 1, 64, "maximum children per node");
  options.Int("max_depth", rule.max_depth, 1, 64, "maximum levels");
  const Json* expand = nullptr;
  options.Raw("expand", expand, "auto or 0 to 1",
              "probability that a node must exceed to be expanded: the time of a level relative to "
              "a target pass; auto: as measured",
              {.fallback = "auto"});
  if (expand != nullptr && *expand != "auto") {
    options.Number("expand", rule.expand.emplace(), 0, 1, "");
  }
  options.Number("leaf", rule.leaf, 0, 1, "probability below which a node is dropped");
  options.Choice(
      "gain", rule.own_confidence, {{"path", false}, {"node", true}},
      "probability that expand is compared with: the path's, or the node's own (an ablation)");
  options.Choice("compat", rule.author, {{"paper", false}, {"author", true}},
                 "author: prunes as the authors' code does");
  return std::unique_ptr<TreePolicy>(std::make_unique<Pct>(rule));
}

}  // namespace foretoken
