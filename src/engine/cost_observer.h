// Measures, while decoding, what passes and proposals cost and whether drafters save time, and
// provides the economy of each cycle.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/drafter.h"
#include "engine/cost_model.h"
#include "engine/session_costs.h"
#include "engine/session_economy.h"
#include "tree/tree_builder.h"

namespace foretoken {

// Key of a drafter in a CostModel.
std::string DraftKey(const DraftPart& part);

// A finished cycle of one sequence.
struct ObservedCycle {
  SessionCosts& session;
  const SessionEconomy& economy;   // used for drafting the cycle
  const TreeBuilder& builder;      // holds all offers
  bool asked;                      // whether the drafter was called
  const CandidateTree& scored;     // the tree that the target scored
  std::span<const Node> path;      // accepted nodes that the answer keeps
  std::span<const Token> written;  // tokens added to the answer
};

// A finished pass, and the drafting work around it.
struct Round {
  int rows = 1;      // of the pass
  int prompts = 0;   // how many of `rows` are prompt rows
  int sessions = 1;  // sessions that wrote, with any drafter
  // Whether another drafter's observer has already recorded this pass in the same cost model.
  bool is_pass_known = false;
  // Seconds: this drafter's Propose; its Observe, without the share of prompts; the pass with
  // verification, without the share of prompt rows.
  double propose = 0, learn = 0, verify = 0;
};

// There is one for each pair of drafter and target. Thread-safety: one thread.
class CostObserver {
 public:
  // `parts`: Drafter::Parts. `target_bytes`: bytes of weights that a one-row pass reads. `learns`:
  // whether costs, and rates that other texts use, are updated. `costs` must outlive this.
  CostObserver(CostModel& costs, std::span<const DraftPart> parts, size_t target_bytes,
               bool learns);

  // Begins a text about which nothing is known.
  void BeginText(SessionCosts& session);
  // Begins an answer of at most `limit` tokens.
  void BeginAnswer(SessionCosts& session, int limit) const;
  // How many of the last tokens of a prompt of `prompt` tokens the drafter should read before it
  // drafts: the largest number whose reading time is expected to be won back, or 0 if that is only
  // a few.
  int TokensWorthReading(const SessionCosts& session, int prompt) const;
  // How many of the last tokens the drafter should read if the text has not begun yet and its
  // answer is limited to `limit` tokens.
  int TokensWorthReading(int prompt, int limit) const;

  // Expected costs and gains of the next cycle. `context`: cached tokens. `left`: tokens that may
  // still be written. `load`: the pass that the session shares. Borrows `session`.
  SessionEconomy EconomyOf(const SessionCosts& session, int context, int left,
                           const PassLoad& load = {}) const;
  // Whether to call the drafter in a cycle. If no guess can be scored, the call only shows whether
  // guesses would have been accepted, so the drafter is called only if it is cheap.
  bool IsWorthAsking(const SessionEconomy& economy, const TreeBuilder& builder) const;
  // Records a pass. `batch`: cycles of this drafter's sessions, not empty.
  void Observe(std::span<const ObservedCycle> batch, const Round& round);
  // Ends an answer. `cut_off`: it reached its limit and did not end with a stop token.
  void EndAnswer(SessionCosts& session, bool cut_off);

  // Stops timing passes and drafters for good.
  void HoldCosts() { timing_ = false; }

 private:
  SessionCosts NewText() const;
  bool NeedsPlainPass() const { return learns_ && timing_ && !costs_.has_plain_pass(); }
  void JudgePart(const ObservedCycle& cycle, int part);
  void ObserveTimes(std::span<const ObservedCycle> batch, const Round& round);
  void ObserveDrafting(std::span<const ObservedCycle> batch, const Round& round);

  CostModel& costs_;
  std::vector<DraftCosts*> drafting_;        // [parts]
  std::vector<DrafterRates*> rates_;         // [parts] the rates in `drafting_`
  std::vector<std::vector<float>> trained_;  // [parts] DraftPrior::acceptance
  bool learns_, timing_ = true;
};

}  // namespace foretoken
