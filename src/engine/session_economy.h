// Expected costs and gains of one session's next cycle, from which tree policies decide.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "engine/cost_model.h"
#include "engine/session_costs.h"
#include "tree/tree_builder.h"
#include "tree/tree_policy.h"

namespace foretoken {

// The pass that a session shares with others, from that session's point of view.
struct PassLoad {
  int sessions = 1;  // sessions that write, this one included
  double nodes = 0;  // nodes of the other sessions' trees, roots not counted
  int prompts = 0;   // prompt rows
  // [other sessions for which this drafter is called] maximum levels each is expected to draft
  std::vector<double> levels;
  // What this session is expected to have in the pass: nodes, and its share of all tokens written.
  double own_nodes = 0, own_part = 1;

  // Sessions in one call of the drafter, this one included.
  int asked() const { return 1 + static_cast<int>(levels.size()); }
  bool is_alone() const { return sessions == 1 && prompts == 0; }
  // Rows of the other sessions, prompt rows not counted.
  double others() const { return sessions - 1 + nodes; }
};

// The TreeEconomy of one session. A session that shares a pass is charged its share of the expected
// pass, in proportion to the tokens that it is expected to write. Nodes above the expected number
// are charged, and nodes below it credited, at their marginal cost, given the other rows of the
// pass.
//
// Units: two are used. Costs of drafting (DraftCosts) are in one-row passes of the target. Gains
// and losses (Governor) are in token times, TokenSeconds(): the time that a token takes without
// drafts. They are equal for a session that has the pass to itself.
class SessionEconomy final : public TreeEconomy {
 public:
  struct Cycle {
    int context = 0;     // cached tokens
    int left = 0;        // tokens that may still be written
    PassLoad load;       // the rest of the pass
    bool plain = false;  // no part may draft: the time of a one-row pass is to be measured
    bool learns = true;  // passes are timed, so larger ones become known
  };
  // `drafting`: [parts]. Borrows all arguments but `cycle`.
  SessionEconomy(const CostModel& costs, std::span<DraftCosts* const> drafting,
                 const SessionCosts& session, const Cycle& cycle)
      : costs_(costs), drafting_(drafting), session_(session), cycle_(cycle) {}

  int parts() const override { return static_cast<int>(drafting_.size()); }
  double VerifySeconds(int nodes) const override;
  int MostNodes() const override {
    const PassLoad& load = cycle_.load;
    return std::max(1, MostRows() - static_cast<int>(load.others()));
  }
  double DraftSeconds(int part, int levels) const override;
  // Seconds that one call of the drafter takes if its deepest draft has `levels` levels.
  double DraftSecondsOfAll(int part, int levels) const {
    return Drafting(part).Passes(levels) * costs_.VerifySeconds(1, 0);
  }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return session_.acceptance.Probability(tree, n);
  }
  double NextAcceptance(const CandidateTree& tree, Node n, int part, int rank) const override {
    return session_.acceptance.NextProbability(part, tree.depth(n), rank);
  }
  bool IsWorthReading(int part, int unread) const override;
  int TokensWorthReading(int part, int unread) const override;
  double Stake(int part) const override {
    return GovernorOf(part).Stake(Allowed(part)) * TokenSeconds();
  }
  bool probing(int part) const override;
  bool resting(int part) const override {
    return cycle_.plain || (GovernorOf(part).resting() && !probing(part));
  }

  // Exploration budget: token times that trying `part` may cost in this answer.
  double Allowed(int part) const;
  // Whether `part` may still propose guesses that will not be scored: its losses are within the
  // exploration budget, or it has gained time in other texts.
  bool HasMeans(int part) const {
    return GovernorOf(part).lost() < Allowed(part) || Drafting(part).Credit() > 0;
  }
  // The minimum that drafting by `part` adds to a cycle, in token times: one level (none for a part
  // that does not draft by levels) and the scoring of one node.
  double LeastPasses(int part) const;
  // Limit on the rows of a pass, prompt rows not counted, while the cost curve is being measured;
  // none where costs are fixed.
  int MostRows() const {
    return cycle_.learns ? costs_.MostRows() : std::numeric_limits<int>::max();
  }
  const CostModel& costs() const { return costs_; }
  // Token time: seconds that a token takes in this pass if no session has nodes.
  double TokenSeconds() const {
    return costs_.VerifySeconds(cycle_.load.sessions, cycle_.context) / cycle_.load.sessions;
  }
  // Token times in a one-row pass: converts costs of drafting to the unit of gains.
  double PlainTokens() const {
    return cycle_.load.is_alone() ? 1 : costs_.VerifySeconds(1, 0) / TokenSeconds();
  }
  const Cycle& cycle() const { return cycle_; }
  // Replaces the expected load by the actual one, once the pass has run.
  void SetLoad(PassLoad load) { cycle_.load = std::move(load); }

 private:
  // The part of the exploration budget that may have been spent by this point of the answer; it
  // limits when a resting part is tried again.
  double AllowedByNow(int part) const;
  // What `part` may take of a budget of `allowed`, which all parts share.
  double OfPart(int part, double allowed) const;
  const DraftCosts& Drafting(int part) const { return *drafting_[static_cast<size_t>(part)]; }
  const Governor& GovernorOf(int part) const {
    return session_.governors[static_cast<size_t>(part)];
  }

  const CostModel& costs_;
  std::span<DraftCosts* const> drafting_;
  const SessionCosts& session_;
  Cycle cycle_;
};

// Net gain of `part` in a cycle, in token times: accepted tokens that no other part offered, less
// the time of drafting them and the marginal time of scoring them. Negative for a loss. `builder`:
// what was offered; `scored`: the tree that the target scored; `path`: the accepted nodes.
double GainOf(int part, const SessionEconomy& economy, const TreeBuilder& builder,
              const CandidateTree& scored, std::span<const Node> path);

// Whether a draft of `costs` is expected to win back the time of reading `unread` tokens.
// `allowed` and `expected` are in one-row passes: what is left of the exploration budget,
// ReadingCredit not counted, and the time that the tokens still to be written take without drafts.
bool IsWorthReading(const DraftCosts& costs, int unread, double allowed, double expected);

}  // namespace foretoken
