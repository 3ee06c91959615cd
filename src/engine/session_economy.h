// What one cycle of one sequence costs and gains, as tree policies see it.
#pragma once

#include <algorithm>
#include <span>

#include "engine/cost_model.h"
#include "tree/acceptance_table.h"
#include "tree/tree_builder.h"
#include "tree/tree_policy.h"

namespace foretoken {

class SessionEconomy final : public TreeEconomy {
 public:
  struct Cycle {
    int context = 0;  // cached tokens
    int batch = 1;    // sequences that share the pass, taken to want as many nodes each
    int left = 0;     // tokens that may be written yet
    bool probing = false, resting = false;
  };
  // Borrows all but `cycle`.
  SessionEconomy(const CostModel& costs, const DraftCosts& drafting,
                 const AcceptanceTable& acceptance, const Cycle& cycle)
      : costs_(costs), drafting_(drafting), acceptance_(acceptance), cycle_(cycle) {}

  double VerifySeconds(int nodes) const override {
    return costs_.VerifySeconds(nodes * cycle_.batch, cycle_.context) / cycle_.batch;
  }
  int MostNodes() const override { return std::max(1, costs_.MostRows() / cycle_.batch); }
  bool IsMeasured(int nodes) const { return costs_.IsMeasured(nodes * cycle_.batch); }
  double DraftSeconds(int levels) const override {
    return drafting_.Seconds(levels) / cycle_.batch;
  }
  double Acceptance(const CandidateTree& tree, Node n) const override {
    return acceptance_.Probability(tree, n);
  }
  double NextAcceptance(const CandidateTree& tree, Node n) const override {
    return acceptance_.NextProbability(tree.depth(n));
  }
  bool IsWorthReading(int unread) const override {
    return drafting_.IsWorthReading(unread, cycle_.left, VerifySeconds(1));
  }
  bool probing() const override { return cycle_.probing; }
  bool resting() const override { return cycle_.resting; }

 private:
  const CostModel& costs_;
  const DraftCosts& drafting_;
  const AcceptanceTable& acceptance_;
  Cycle cycle_;
};

// What a cycle saved, in plain passes, by guesses of the drafters that had to read the text for
// them and that no other drafter offered: negative where they did not pay. `builder`: what was
// offered; `scored`: what of it the target saw; `path`: what it took.
double SavedByReading(const TreeEconomy& economy, const TreeBuilder& builder,
                      const CandidateTree& scored, std::span<const Node> path);

}  // namespace foretoken
