// What one cycle of one sequence costs and gains, as tree policies see it.
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

// What else is in a pass that a session shares with others.
struct PassLoad {
  int sessions = 1;            // that write, this one included
  double nodes = 0;            // of the others' trees, below their roots
  int prompts = 0;             // rows of prompts
  std::vector<double> levels;  // of each other that this drafter is asked for: it may draft so many
  // What this session is expected to take of it: its nodes, and its part of all tokens.
  double own_nodes = 0, own_part = 1;

  // Sessions that the drafter is asked for together, this one included.
  int asked() const { return 1 + static_cast<int>(levels.size()); }
  bool is_alone() const { return sessions == 1 && prompts == 0; }
  // Rows besides this session's, those of prompts not counted.
  double others() const { return sessions - 1 + nodes; }
};

// A session that shares a pass pays, of the pass as it is expected to be, the part that it has of
// the tokens, so that a token is worth the time that it takes there; nodes more or less cost what
// they change at the rows that are there anyway.
class SessionEconomy final : public TreeEconomy {
 public:
  struct Cycle {
    int context = 0;     // cached tokens
    int left = 0;        // tokens that may be written yet
    PassLoad load;       // of the pass
    bool plain = false;  // so that the time of a plain pass is known
    bool learns = true;  // so that passes of more rows will be timed
  };
  // `drafting`: by part. Borrows all but `cycle`.
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
  // Of all that are asked together, of whom one drafts `levels` levels and none drafts more.
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

  // Passes that finding out about `part` may cost in this answer.
  double Allowed(int part) const;
  // Whether guesses of `part` may be asked for that are not scored: it has not cost more than that,
  // or has won in other texts.
  bool HasMeans(int part) const {
    return GovernorOf(part).lost() < Allowed(part) || Drafting(part).Credit() > 0;
  }
  // Passes that a cycle costs at least in which `part` drafts.
  double LeastPasses(int part) const;
  // Rows that a pass may have, those of prompts not counted, while larger ones were never timed.
  int MostRows() const {
    return cycle_.learns ? costs_.MostRows() : std::numeric_limits<int>::max();
  }
  const CostModel& costs() const { return costs_; }
  // Seconds that a token takes in such a pass without any nodes.
  double TokenSeconds() const {
    return costs_.VerifySeconds(cycle_.load.sessions, cycle_.context) / cycle_.load.sessions;
  }
  // A plain pass of one session in such times: what drafters win and lose is counted in these, what
  // they cost in plain passes.
  double PlainTokens() const {
    return cycle_.load.is_alone() ? 1 : costs_.VerifySeconds(1, 0) / TokenSeconds();
  }
  const Cycle& cycle() const { return cycle_; }
  // The pass has come out otherwise than was expected: it counts as it is.
  void SetLoad(PassLoad load) { cycle_.load = std::move(load); }

 private:
  // Passes that may have been spent by now on trying a part that rests.
  double AllowedByNow(int part) const;
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

// What a cycle won by `part`, in plain passes: tokens by guesses that no other part offered, less
// what drafting and scoring those took; negative where they did not pay. `builder`: what was
// offered; `scored`: what of it the target saw; `path`: what it took.
double GainOf(int part, const SessionEconomy& economy, const TreeBuilder& builder,
              const CandidateTree& scored, std::span<const Node> path);

// Whether a draft of `costs` had better read `unread` tokens of text, as `allowed` passes besides
// its ReadingCredit may be spent on finding out and `expected` tokens will be written.
bool IsWorthReading(const DraftCosts& costs, int unread, double allowed, double expected);

}  // namespace foretoken
