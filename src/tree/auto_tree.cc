// The tree that is expected to write most tokens a second: a node stays, and a level is drafted, as
// long as the tokens it is expected to add are worth the time it takes, on the measured curve and
// at the acceptance observed so far. PCT with measured costs, of verification too, and with the
// draft's confidence calibrated; where nothing pays, nothing is drafted.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tree/selection.h"

namespace foretoken {
namespace {

// What a CPU and a small drafter are like, in target passes, for as long as nothing was measured.
class Assumed final : public TreeEconomy {
 public:
  double VerifySeconds(int nodes) const override { return 1 + 0.05 * (nodes - 1); }
  double DraftSeconds(int levels) const override { return 0.04 * levels; }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return std::exp(tree.log_q(n));
  }
  double NextAcceptance(const CandidateTree&, Node) const override { return 0.6; }
  bool IsWorthReading(int) const override { return true; }
  bool probing() const override { return false; }
  bool resting() const override { return false; }
};

const TreeEconomy& EconomyOf(const TreeContext& context) {
  static const Assumed assumed;
  return context.economy != nullptr ? *context.economy : assumed;
}

// The best tree of what was offered.
struct Plan {
  std::vector<Node> kept;           // likeliest first, without the root
  std::vector<double> probability;  // [tree.size()] that the target takes the node
  double rate = 0;                  // tokens a second
};

// Siblings exclude each other: together they are no likelier than certain.
std::vector<double> Probabilities(const CandidateTree& tree, const TreeEconomy& economy) {
  std::vector<double> probability(static_cast<size_t>(tree.size()), 0.0);
  probability[0] = 1;
  for (Node parent = 0; parent < tree.size(); ++parent) {
    double sum = 0;
    for (Node n = tree.FirstChild(parent); n != kNoNode; n = tree.NextSibling(n)) {
      if (!tree.offered(n)) continue;
      probability[n] = std::clamp(economy.Acceptance(tree, n), 0.0, 1.0);
      sum += probability[n];
    }
    const double scale = probability[parent] / std::max(1.0, sum);
    for (Node n = tree.FirstChild(parent); n != kNoNode; n = tree.NextSibling(n)) {
      probability[n] *= scale;
    }
  }
  return probability;
}

Plan MakePlan(const CandidateTree& tree, const TreeContext& context) {
  const TreeEconomy& economy = EconomyOf(context);
  const double drafting = economy.DraftSeconds(context.levels);
  Plan plan{.probability = Probabilities(tree, economy)};
  const std::vector<bool> candidate = Candidates(tree);
  for (Node n = 1; n < tree.size(); ++n) {
    if (candidate[n]) plan.kept.push_back(n);
  }
  const std::vector<double>& p = plan.probability;
  std::sort(plan.kept.begin(), plan.kept.end(),
            [&p](Node a, Node b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
  double tokens = 1;  // the bonus
  plan.rate = tokens / (drafting + economy.VerifySeconds(1));
  size_t best = 0;
  for (size_t i = 0; i < plan.kept.size() && static_cast<int>(i) + 2 <= context.limits.max_nodes;
       ++i) {
    tokens += p[plan.kept[i]];
    const double rate = tokens / (drafting + economy.VerifySeconds(static_cast<int>(i) + 2));
    if (rate > plan.rate) plan.rate = rate, best = i + 1;
  }
  plan.kept.resize(best);
  return plan;
}

class AutoTree final : public TreePolicy {
 public:
  AutoTree(int width, int nodes) : width_(width), nodes_(nodes) {}

  int Width() const override { return width_; }
  int DefaultNodes() const override { return nodes_; }
  bool UsesEconomy() const override { return true; }
  bool MayDecline() const override { return true; }

  // Probes are scored whatever they cost, so the pass is kept to what a good guess would repay.
  TreeLimits Limits(const TreeContext& context) const override {
    constexpr double kDearest = 2.5;  // plain passes
    const TreeEconomy& economy = EconomyOf(context);
    TreeLimits limits = context.limits;
    limits.max_nodes = std::min(limits.max_nodes, economy.MostNodes());
    if (economy.resting()) limits.max_nodes = 1;
    while (limits.max_nodes > 2 &&
           economy.VerifySeconds(limits.max_nodes) > kDearest * economy.VerifySeconds(1)) {
      --limits.max_nodes;
    }
    return limits;
  }

  // A node is worth asking about if its best child is expected to earn more than its own place in
  // the pass costs; the level is drafted if that of all such nodes together pays for it. Where
  // another drafter offered children already, a further one can only come true where they do not.
  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext& context) const override {
    const TreeEconomy& economy = EconomyOf(context);
    if (!economy.IsWorthReading(context.unread)) return {};
    const Plan plan = MakePlan(tree, context);
    const auto left = [&](Node n) {
      double taken = 0;
      for (Node c = tree.FirstChild(n); c != kNoNode; c = tree.NextSibling(c)) {
        taken += plan.probability[c];
      }
      return std::max(0.0, plan.probability[n] - taken);
    };
    if (fresh.front() == 0 && economy.probing() && left(0) == 1) return {0};
    const int nodes = static_cast<int>(plan.kept.size()) + 1;
    const double place =
        plan.rate * (economy.VerifySeconds(nodes + 1) - economy.VerifySeconds(nodes));
    const double level = plan.rate * (economy.DraftSeconds(context.levels + 1) -
                                      economy.DraftSeconds(context.levels));
    std::vector<Node> worthy;
    double profit = 0;
    for (Node n : fresh) {
      const double gain = left(n) * economy.NextAcceptance(tree, n) - place;
      if (gain <= 0) continue;
      worthy.push_back(n);
      profit += gain;
    }
    if (profit <= level) return {};
    const std::vector<double>& p = plan.probability;
    std::stable_sort(worthy.begin(), worthy.end(), [&p](Node a, Node b) { return p[a] > p[b]; });
    worthy.resize(std::min(worthy.size(), static_cast<size_t>(context.limits.max_nodes)));
    return worthy;
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    std::vector<Node> kept = MakePlan(tree, context).kept;
    kept.push_back(0);
    std::sort(kept.begin(), kept.end());
    return kept;
  }

 private:
  int width_, nodes_;
};

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewAutoTree(OptionReader& options) {
  const int width = options.Int("width", 4, 1, 64);
  const int nodes = options.Int("nodes", 64, 2, 512);
  return std::unique_ptr<TreePolicy>(std::make_unique<AutoTree>(width, nodes));
}

}  // namespace foretoken
