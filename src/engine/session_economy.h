// What one cycle of one sequence costs and gains, as tree policies see it.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "engine/cost_model.h"
#include "engine/session_costs.h"
#include "tree/tree_builder.h"
#include "tree/tree_policy.h"

namespace foretoken {

class SessionEconomy final : public TreeEconomy {
 public:
  struct Cycle {
    int context = 0;     // cached tokens
    int batch = 1;       // sequences that share the pass, taken to want as many nodes each
    int left = 0;        // tokens that may be written yet
    bool plain = false;  // so that the time of a plain pass is known
    bool learns = true;  // so that passes of more rows will be timed
  };
  // `drafting`: by part. Borrows all but `cycle`.
  SessionEconomy(const CostModel& costs, std::span<DraftCosts* const> drafting,
                 const SessionCosts& session, const Cycle& cycle)
      : costs_(costs), drafting_(drafting), session_(session), cycle_(cycle) {}

  int parts() const override { return static_cast<int>(drafting_.size()); }
  double VerifySeconds(int nodes) const override {
    return costs_.VerifySeconds(nodes * cycle_.batch, cycle_.context) / cycle_.batch;
  }
  int MostNodes() const override {
    if (!cycle_.learns) return TreeEconomy::MostNodes();
    return std::max(1, costs_.MostRows() / cycle_.batch);
  }
  // Before a level was timed, several are none to be ventured.
  double DraftSeconds(int part, int levels) const override {
    if (levels > 1 && !Drafting(part).drafts_levels()) {
      return std::numeric_limits<double>::infinity();
    }
    return Drafting(part).Passes(levels) * costs_.VerifySeconds(1, 0) / cycle_.batch;
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
    return GovernorOf(part).Stake(Allowed(part)) * VerifySeconds(1);
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
  const Cycle& cycle() const { return cycle_; }

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
double GainOf(int part, const TreeEconomy& economy, const TreeBuilder& builder,
              const CandidateTree& scored, std::span<const Node> path);

// Whether a draft of `costs` had better read `unread` tokens of text, as `allowed` passes besides
// its ReadingCredit may be spent on finding out and `expected` tokens will be written.
bool IsWorthReading(const DraftCosts& costs, int unread, double allowed, double expected);

}  // namespace foretoken
