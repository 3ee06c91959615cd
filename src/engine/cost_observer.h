// Learns while decoding what passes and proposals cost and whether drafters win time, and says of
// every cycle what drafting is worth.
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

// The name that a CostModel keeps what is known of a drafter under.
std::string DraftKey(const DraftPart& part);

// One cycle of one sequence, when it is over.
struct ObservedCycle {
  SessionCosts& session;
  const SessionEconomy& economy;   // by which it was drafted
  const TreeBuilder& builder;      // what was offered
  bool asked;                      // whether the drafter was asked
  const CandidateTree& scored;     // what of it the target saw
  std::span<const Node> path;      // what it took, as far as the answer keeps it
  std::span<const Token> written;  // what the answer is longer by
};

// One pass, and what went with it.
struct Round {
  int rows = 1;      // of the pass
  int prompts = 0;   // of those, rows of prompts
  int sessions = 1;  // that wrote, by whatever drafter
  // Whether its costs have learned already what the pass took, from another drafter's observer.
  bool is_pass_known = false;
  // Seconds: of this drafter; of the pass and its verification, those of prompts left out.
  double propose = 0, learn = 0, verify = 0;
};

// One a drafter and target. Thread-safety: one thread.
class CostObserver {
 public:
  // `parts`: Drafter::Parts. `target_bytes`: what a plain pass reads. `learns`: false, where what
  // is known of costs and of other texts is not to change. `costs` must outlive this.
  CostObserver(CostModel& costs, std::span<const DraftPart> parts, size_t target_bytes,
               bool learns);

  // A text begins, of which nothing is known.
  void BeginText(SessionCosts& session);
  // An answer begins, of `limit` tokens at most.
  void BeginAnswer(SessionCosts& session, int limit) const;
  // How many of the last tokens of a prompt of so many the drafter may read before it drafts: as
  // many as are expected to pay, or none where those would be few.
  int TokensWorthReading(const SessionCosts& session, int prompt) const;
  // The same of a text that has not begun, whose answer may have `limit` tokens.
  int TokensWorthReading(int prompt, int limit) const;

  // What the next cycle costs and gains. `left`: tokens that may be written yet. Borrows `session`.
  SessionEconomy EconomyOf(const SessionCosts& session, int context, int left,
                           const PassLoad& load = {}) const;
  // Whether guesses are wanted in a cycle. Where nothing can be scored they still teach whether
  // they come true, but not at any price.
  bool IsWorthAsking(const SessionEconomy& economy, const TreeBuilder& builder) const;
  // What a pass took and gave. `batch`: of this drafter's sessions, not empty.
  void Observe(std::span<const ObservedCycle> batch, const Round& round);
  // The answer has ended, or was cut off.
  void EndAnswer(SessionCosts& session, bool cut_off);

  // From now on nothing is timed.
  void HoldCosts() { timing_ = false; }

 private:
  SessionCosts NewText() const;
  bool NeedsPlainPass() const { return learns_ && timing_ && !costs_.has_plain_pass(); }
  void JudgePart(const ObservedCycle& cycle, int part);
  void ObserveTimes(std::span<const ObservedCycle> batch, const Round& round);
  void ObserveDrafting(std::span<const ObservedCycle> batch, const Round& round);

  CostModel& costs_;
  std::vector<DraftCosts*> drafting_;        // [parts]
  std::vector<DrafterRates*> rates_;         // [parts], theirs
  std::vector<std::vector<float>> trained_;  // [parts] DraftPrior::acceptance
  bool learns_, timing_ = true;
};

}  // namespace foretoken
