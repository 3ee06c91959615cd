// The tree policy that maximises expected tokens per second. A node is kept, and a level is
// drafted, while the tokens it is expected to add are worth its time. Costs are measured;
// acceptance is what was observed so far. The policy is PCT with measured costs, verification
// included, and with the draft's confidence calibrated. If no gain is expected, nothing is drafted.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tree/selection.h"

namespace foretoken {
namespace {

// Costs assumed until something is measured, in target passes. They are typical of a CPU and a
// small drafter.
class Assumed final : public TreeEconomy {
 public:
  double VerifySeconds(int nodes) const override { return 1 + 0.05 * (nodes - 1); }
  double DraftSeconds(int, int levels) const override { return 0.04 * levels; }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return std::exp(tree.log_q(n));
  }
  double NextAcceptance(const CandidateTree&, Node, int, int rank) const override {
    return rank == 0 ? 0.6 : 0;
  }
  bool IsWorthReading(int, int) const override { return true; }
  bool probing(int) const override { return false; }
  bool resting(int) const override { return false; }
};

const TreeEconomy& EconomyOf(const TreeContext& context) {
  static const Assumed assumed;
  return context.economy != nullptr ? *context.economy : assumed;
}

// The best tree of the offered nodes.
struct Plan {
  std::vector<Node> kept;           // likeliest first, without the root
  std::vector<double> probability;  // [tree.size()] that the target accepts the node
  double rate = 0;                  // tokens per second
};

// Whether every part that proposed `n` is resting, so that the target must not score it.
bool IsResting(const CandidateTree& tree, Node n, const TreeEconomy& economy) {
  const uint32_t by = tree.proposers(n);
  for (int part = 0; part < economy.parts(); ++part) {
    if ((by >> part & 1) != 0 && !economy.resting(part)) return false;
  }
  return true;
}

// Returns the maximum, over the parts, of the seconds beyond a pass without drafting that a part
// may risk in this cycle; 0 if all rest.
double MostStake(const TreeEconomy& economy) {
  double most = 0;
  for (int part = 0; part < economy.parts(); ++part) {
    if (!economy.resting(part)) most = std::max(most, economy.Stake(part));
  }
  return most;
}

// [tree.size()] the probability that the target accepts each node. Siblings exclude each other, so
// their probabilities are scaled down where they add up to more than 1.
std::vector<double> Probabilities(const CandidateTree& tree, const TreeEconomy& economy) {
  std::vector<double> probability(static_cast<size_t>(tree.size()), 0.0);
  probability[0] = 1;
  for (Node parent = 0; parent < tree.size(); ++parent) {
    if (probability[parent] == 0) continue;
    double sum = 0;
    for (Node n = tree.FirstChild(parent); n != kNoNode; n = tree.NextSibling(n)) {
      if (!tree.offered(n) || IsResting(tree, n, economy)) continue;
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

// Seconds that all parts together have drafted so far.
double DraftingSeconds(const TreeContext& context, const TreeEconomy& economy) {
  double seconds = 0;
  for (size_t part = 0; part < context.levels.size(); ++part) {
    seconds += economy.DraftSeconds(static_cast<int>(part), context.levels[part]);
  }
  return seconds;
}

// The nodes that may be scored, likeliest first.
struct Ranking {
  std::vector<Node> nodes;          // without the root
  std::vector<double> seconds;      // [nodes] of a pass over the root and all nodes up to this
                                    // one
  std::vector<double> probability;  // [tree.size()] that the target accepts the node
};

// Ranks as many nodes as the limits and this cycle's stake allow.
Ranking Rank(const CandidateTree& tree, const TreeContext& context, const TreeEconomy& economy) {
  Ranking ranking{.nodes = {}, .seconds = {}, .probability = Probabilities(tree, economy)};
  const std::vector<bool> candidate = Candidates(tree);
  const std::vector<double>& p = ranking.probability;
  std::vector<Node>& nodes = ranking.nodes;
  for (Node n = 1; n < tree.size(); ++n) {
    if (candidate[n] && p[n] > 0) nodes.push_back(n);
  }
  std::sort(nodes.begin(), nodes.end(),
            [&p](Node a, Node b) { return p[a] != p[b] ? p[a] > p[b] : a < b; });
  const double drafting = DraftingSeconds(context, economy);
  const double most = economy.VerifySeconds(1) + std::max(MostStake(economy) - drafting, 0.0);
  for (int rows = 2; rows <= context.limits.max_nodes && rows <= std::ssize(nodes) + 1; ++rows) {
    const double seconds = economy.VerifySeconds(rows);
    if (seconds > most) break;
    ranking.seconds.push_back(seconds);
  }
  nodes.resize(ranking.seconds.size());
  return ranking;
}

Plan MakePlan(const CandidateTree& tree, const TreeContext& context) {
  const TreeEconomy& economy = EconomyOf(context);
  const double drafting = DraftingSeconds(context, economy);
  Ranking ranking = Rank(tree, context, economy);
  Plan plan{.kept = std::move(ranking.nodes), .probability = std::move(ranking.probability)};
  double tokens = 1;  // the bonus
  plan.rate = tokens / (drafting + economy.VerifySeconds(1));
  size_t best = 0;
  for (size_t i = 0; i < plan.kept.size(); ++i) {
    tokens += plan.probability[plan.kept[i]];
    const double rate = tokens / (drafting + ranking.seconds[i]);
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

  int TokensToRead(int unread, const TreeContext& context) const override {
    return EconomyOf(context).TokensWorthReading(context.part(), unread);
  }

  // Bounds nodes by this cycle's stake. Probes are scored regardless of their cost, so their number
  // is bounded by the most expensive pass that a good guess would repay.
  TreeLimits Limits(const TreeContext& context) const override {
    constexpr double kDearest = 2.5;  // in passes without drafting
    const TreeEconomy& economy = EconomyOf(context);
    TreeLimits limits = context.limits;
    limits.max_nodes = std::min(limits.max_nodes, economy.MostNodes());
    const double plain = economy.VerifySeconds(1), stake = MostStake(economy);
    if (stake == 0) limits.max_nodes = 1;
    while (limits.max_nodes > 2 && economy.VerifySeconds(limits.max_nodes) - plain > stake) {
      --limits.max_nodes;
    }
    limits.max_probes = std::min(limits.max_probes, limits.max_nodes - 1);
    const double most = kDearest * plain;
    while (limits.max_probes > 1 && economy.VerifySeconds(limits.max_probes + 1) > most) {
      --limits.max_probes;
    }
    return limits;
  }

  // A node is expanded if its best children are expected to gain more than their rows in the pass
  // cost; the level is drafted if these gains together exceed its drafting cost. If another part
  // has already offered children, a further child can be right only if they are wrong.
  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                           const TreeContext& context) const override {
    const TreeEconomy& economy = EconomyOf(context);
    const int part = context.part(), levels = context.levels.back();
    if (economy.resting(part) || !economy.IsWorthReading(part, context.unread)) return {};
    const Plan plan = MakePlan(tree, context);
    const auto left = [&](Node n) {
      double taken = 0;
      for (Node c = tree.FirstChild(n); c != kNoNode; c = tree.NextSibling(c)) {
        taken += plan.probability[c];
      }
      return std::max(0.0, plan.probability[n] - taken);
    };
    constexpr double kOpen = 0.5;  // a probe needs at least this chance of being right
    if (fresh.front() == 0 && economy.probing(part) && left(0) >= kOpen) return {0};
    const int nodes = static_cast<int>(plan.kept.size()) + 1;
    const double place =
        plan.rate * (economy.VerifySeconds(nodes + 1) - economy.VerifySeconds(nodes));
    const double level =
        plan.rate * (economy.DraftSeconds(part, levels + 1) - economy.DraftSeconds(part, levels));
    std::vector<Node> worthy;
    double profit = 0;
    for (Node n : fresh) {
      const double open = left(n);
      double gain = 0;
      for (int rank = 0; rank < width_; ++rank) {
        const double of_rank = open * economy.NextAcceptance(tree, n, part, rank) - place;
        if (of_rank <= 0) break;
        gain += of_rank;
      }
      if (gain <= 0) continue;
      worthy.push_back(n);
      profit += gain;
    }
    if (profit <= level) return {};
    const double drafted = economy.DraftSeconds(part, levels + 1);
    if (drafted + economy.VerifySeconds(2) - economy.VerifySeconds(1) > economy.Stake(part))
      return {};
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

  // The gains of the nodes that may be risked. Whether they are worth their cost is decided for all
  // sessions of a pass together.
  std::vector<double> Gains(const CandidateTree& tree, const TreeContext& context) const override {
    const Ranking ranking = Rank(tree, context, EconomyOf(context));
    std::vector<double> gains(static_cast<size_t>(tree.size()), 0.0);
    gains[0] = 1;
    for (const Node n : ranking.nodes) gains[n] = ranking.probability[n];
    return gains;
  }

 private:
  int width_, nodes_;
};

}  // namespace

Result<std::unique_ptr<TreePolicy>> NewAutoTree(OptionFields& options) {
  int width = 4, nodes = 64;
  options.Int("width", width, 1, 64, "maximum children per node");
  options.Int("nodes", nodes, 2, 512, "maximum nodes, including the root");
  return std::unique_ptr<TreePolicy>(std::make_unique<AutoTree>(width, nodes));
}

}  // namespace foretoken
