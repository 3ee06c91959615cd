// What is known of one drafter over all texts: what its proposals cost, how often its guesses come
// true, and whether it has been winning time.
#pragma once

#include "base/json_fwd.h"
#include "engine/estimate.h"
#include "tree/acceptance_table.h"

namespace foretoken {

// Costs are in plain passes of the target. Thread-safety: one thread.
class DraftCosts {
 public:
  DraftCosts();

  // What a level takes by the look of the draft; counts until levels are timed.
  void ExpectLevel(double passes);
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
  // Passes that it may lose in a text before that outweighs what it won in others.
  double Credit() const;

  // 1 for a drafter that was never judged or wins time, down to 1/16 where it lost in text after
  // text: the share of what may be spent on trying it.
  double trust() const { return trust_; }
  void ObserveFailure();  // a text sent it to rest
  void ObserveWin();      // a text gained by it
  void ObserveStart();    // of a text: doubts fade, so that what lost is tried again

  const DrafterRates& rates() const { return rates_; }
  DrafterRates& rates() { return rates_; }

  bool observed() const;
  // {"fixed", "level", "token": Estimate, "trust", "gain": [passes, cycles], "rates"}.
  Json ToJson() const;
  // Takes over what ToJson wrote. False for anything else.
  bool Restore(const Json& json);

 private:
  Estimate fixed_, level_, token_;
  bool has_level_bytes_ = false;
  double trust_ = 1, gain_ = 0, cycles_ = 0;
  DrafterRates rates_;
};

}  // namespace foretoken
