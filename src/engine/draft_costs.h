// Statistics of one drafter over all texts: cost of its proposals, acceptance rates of its guesses,
// and time gained or lost by it.
#pragma once

#include <algorithm>

#include "base/json_fwd.h"
#include "engine/estimate.h"
#include "tree/acceptance_table.h"

namespace foretoken {

// Costs are in one-row passes of the target; gains are in token times (SessionEconomy), called
// passes here because the two agree for a session that is alone in its pass. Thread-safety: one
// thread.
class DraftCosts {
 public:
  // Reading fewer tokens of text than this counts as part of the first level.
  static constexpr int kManyTokens = 16;

  DraftCosts();

  // Sets the expected cost of a level, and of reading one token of text, from the draft's size.
  // Each expectation holds until its cost is timed.
  void ExpectLevel(double passes);
  void ExpectReading(double passes_per_token);
  // Passes that drafting `levels` levels takes.
  double Passes(int levels) const { return fixed_.value() + level_.value() * levels; }
  // Passes that reading `unread` tokens of text takes.
  double ReadingPasses(int unread) const { return token_.value() * unread; }
  // Whether the drafter is known to draft by levels.
  bool drafts_levels() const { return has_level_bytes_ || level_.observations() > 0; }
  // Records the time of a proposal of `levels` levels, before which `unread` tokens were read.
  void Observe(int levels, int unread, double passes);

  // Records the net gain of a cycle that drafted, in passes; the cost of reading text is left out.
  void ObserveGain(double passes);
  // Expected gain of a cycle that drafts, in passes, and the number of cycles that it is based on.
  double mean_gain() const { return cycles_ > 0 ? gain_ / cycles_ : 0; }
  double cycles() const { return cycles_; }
  // Ends an answer of `tokens` tokens. The answer counts only if the drafter drafted in it.
  void ObserveWritten(int tokens);
  // Expected gain, in passes, in an answer of `tokens` tokens in which the drafter drafts; 0 until
  // enough is known.
  double ExpectedGain(double tokens) const;
  // Passes that the drafter may lose in a text before its losses outweigh its gains in other texts.
  double Credit() const;

  // Share of the exploration budget that may be spent on the drafter: 1 for one that was never
  // judged or gains time, down to 1/16 for one that lost in text after text.
  double trust() const { return trust_; }
  void ObserveFailure();  // the drafter was sent to rest in a text
  void ObserveWin();      // the drafter gained time in an answer
  void ObserveStart();    // a text begins: trust recovers a little, so that losers are retried

  // Unspent exploration budget of earlier answers, in passes; below 0: borrowed from later answers.
  // It pays for reading text, so a first try that costs more than one answer's budget is made after
  // a few answers.
  double savings() const { return savings_; }
  // Sets the maximum number of passes that the drafter may borrow: above 0 for a draft that
  // is expected to repay them.
  void SetPromise(double passes) { promise_ = passes; }
  // Passes that may be spent on reading: savings, and what may still be borrowed.
  double ReadingCredit() const { return std::max(savings_ + promise_, 0.0); }
  // Takes up to `passes` passes for reading out of ReadingCredit. Returns how many it took.
  double PayForReading(double passes);
  // Ends an answer that left `unspent` >= 0 passes of its exploration budget and gained `won` >= 0
  // passes. The gain repays what was borrowed.
  void Save(double unspent, double won);

  const DrafterRates& rates() const { return rates_; }
  DrafterRates& rates() { return rates_; }

  bool observed() const;
  // {"fixed", "level", "token": Estimate, "trust", "gain": [passes, cycles], "written":
  // [passes, tokens], "savings", "rates"}.
  Json ToJson() const;
  // Restores what ToJson wrote. Returns false for anything else.
  bool Restore(const Json& json);

 private:
  // Observe, if at least kManyTokens tokens were read.
  void ObserveReading(int levels, int unread, double passes);

  Estimate fixed_, level_, token_;
  bool has_level_bytes_ = false;
  double trust_ = 1, gain_ = 0, cycles_ = 0, savings_ = 0, promise_ = 0;
  // Passes gained in answers of `written_` tokens in all; older answers count less.
  double won_ = 0, written_ = 0;
  double won_now_ = 0;        // passes gained in this answer
  bool drafted_now_ = false;  // whether it drafted in this answer
  DrafterRates rates_;
};

}  // namespace foretoken
