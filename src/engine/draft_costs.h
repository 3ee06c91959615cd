// What is known of one drafter over all texts: what its proposals cost, how often its guesses come
// true, and whether it has been winning time.
#pragma once

#include <algorithm>

#include "base/json_fwd.h"
#include "engine/estimate.h"
#include "tree/acceptance_table.h"

namespace foretoken {

// Costs are in plain passes of the target. Thread-safety: one thread.
class DraftCosts {
 public:
  // Fewer tokens of text are read with the first level, as part of what it takes.
  static constexpr int kManyTokens = 16;

  DraftCosts();

  // What a level, and reading a token of text, takes by the look of the draft; counts until it is
  // timed.
  void ExpectLevel(double passes);
  void ExpectReading(double passes_per_token);
  // Passes that `levels` levels of drafting take.
  double Passes(int levels) const { return fixed_.value() + level_.value() * levels; }
  // Passes that reading `unread` tokens of text takes.
  double ReadingPasses(int unread) const { return token_.value() * unread; }
  // Whether it drafts levels, as far as is known.
  bool drafts_levels() const { return has_level_bytes_ || level_.observations() > 0; }
  // What proposing that many levels took, for which `unread` tokens of text were read first.
  void Observe(int levels, int unread, double passes);

  // Passes won by a cycle that drafted, less what it cost; without reading the text.
  void ObserveGain(double passes);
  // Passes that a cycle which drafts may be expected to win, and how many cycles say so.
  double mean_gain() const { return cycles_ > 0 ? gain_ / cycles_ : 0; }
  double cycles() const { return cycles_; }
  // An answer of so many tokens has ended. It counts if the drafter drafted in it.
  void ObserveWritten(int tokens);
  // Passes that it may be expected to win in an answer of `tokens` tokens in which it drafts; 0
  // before enough is known.
  double ExpectedGain(double tokens) const;
  // Passes that it may lose in a text before that outweighs what it won in others.
  double Credit() const;

  // 1 for a drafter that was never judged or wins time, down to 1/16 where it lost in text after
  // text: the share of what may be spent on trying it.
  double trust() const { return trust_; }
  void ObserveFailure();  // a text sent it to rest
  void ObserveWin();      // a text gained by it
  void ObserveStart();    // of a text: doubts fade, so that what lost is tried again

  // Passes that finding out about the drafter might have cost in earlier answers and did not, or,
  // below 0, that it borrowed from the answers to come. They are for reading text: a first try that
  // costs more than one answer's share is made after a few answers.
  double savings() const { return savings_; }
  // Passes that it may borrow at most: more than 0 for a draft that promises to win them back.
  void SetPromise(double passes) { promise_ = passes; }
  double ReadingCredit() const { return std::max(savings_ + promise_, 0.0); }
  // Takes `passes` of reading out of the savings, or as many as there are. Returns how many.
  double PayForReading(double passes);
  // An answer has ended that leaves `unspent` passes and in which it won `won` passes, 0 or more:
  // those repay what was borrowed.
  void Save(double unspent, double won);

  const DrafterRates& rates() const { return rates_; }
  DrafterRates& rates() { return rates_; }

  bool observed() const;
  // {"fixed", "level", "token": Estimate, "trust", "gain": [passes, cycles], "written":
  // [passes, tokens], "savings", "rates"}.
  Json ToJson() const;
  // Takes over what ToJson wrote. False for anything else.
  bool Restore(const Json& json);

 private:
  Estimate fixed_, level_, token_;
  bool has_level_bytes_ = false;
  double trust_ = 1, gain_ = 0, cycles_ = 0, savings_ = 0, promise_ = 0;
  double won_ = 0, written_ = 0;  // passes won in answers of so many tokens together
  double won_now_ = 0;            // passes won in this answer
  bool drafted_now_ = false;      // whether it drafted in this answer
  DrafterRates rates_;
};

}  // namespace foretoken
