// Puts a drafter to rest while it loses time in a text, and decides when to try it again.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

namespace foretoken {

// There is one for each pair of text and drafter. A resting drafter's guesses are not scored. The
// unit of time is the token time (SessionEconomy::TokenSeconds), called a pass below: the time in
// which decoding without drafts writes one token. `allowed`: the exploration budget, the passes
// that trying this drafter may have cost by now.
class Governor {
 public:
  // `credit`: passes that the drafter may lose beyond the budget, because it gained them in other
  // texts. `trust`: the share of the budget that it may spend (DraftCosts::trust); with little
  // trust it begins at rest.
  explicit Governor(double credit = 0, double trust = 1)
      : balance_(credit),
        most_saved_(std::max(credit, kMostSaved)),
        trust_(trust),
        resting_(trust < kDoubted) {}

  bool resting() const { return resting_; }
  double trust() const { return trust_; }
  // Whether the next cycle is a probe: it drafts, even at rest, to measure whether drafting saves
  // time now. `passes`: what the cycle would lose if no guess were accepted.
  bool IsProbing(double passes, double allowed) const {
    return idle_ >= kInterval && passes <= allowed - lost();
  }
  // Passes that the next cycle may lose if no guess is accepted.
  double Stake(double allowed) const {
    const double ventured = std::min(balance_, 0.0) + kAtOnce * std::min(allowed, 1.0);
    const double left = std::max(0.0, std::min(ventured, allowed - lost()));
    // At most half of earlier gains at once, or one pass if that is more.
    const double won = balance_ > 1 ? std::max(1.0, balance_ / 2) : std::max(balance_, 0.0);
    const double stake = won + left;
    return idle_ >= kInterval ? std::max(stake, allowed - lost()) : stake;
  }
  // Net loss of this answer in passes, at least 0.
  double lost() const { return std::max(0.0, -net_); }
  double net() const { return net_; }
  void BeginAnswer() {
    net_ = 0;
    failed_ = false;
  }

  // Records a cycle that drafted and gained `gain` passes (below 0: lost). `reading`: passes spent
  // on reading text, which say nothing about the gain of drafting. `least`: the minimum cost
  // of a drafting cycle. Returns true if the drafter is sent to rest, or was tried at rest in
  // vain, but at most once an answer.
  bool Observe(double gain, double reading, double least, double allowed) {
    net_ += gain - reading;
    idle_ = 0;
    if (resting_) {
      // The gain of a successful probe may be lost again.
      resting_ = gain <= 0;
      balance_ = std::max(gain, 0.0);
      return resting_ && !std::exchange(failed_, true);
    }
    // Gains are remembered up to a limit, because texts change.
    balance_ = std::min(balance_ + gain, most_saved_);
    if (Stake(allowed) >= least) return false;
    resting_ = true;
    hits_ = 0;
    return !std::exchange(failed_, true);
  }

  // Records a cycle that did not draft. `cost`: the cost of calling the drafter, in passes.
  // `came_true`: whether the drafter's best first guess, which was not scored, was right; nullopt
  // if it made none. Right guesses end a rest.
  void ObserveIdle(std::optional<bool> came_true, double cost) {
    ++idle_;
    net_ -= cost;
    if (!resting_ || !came_true) return;
    hits_ = *came_true ? hits_ + 1 : std::max(0.0, hits_ - 0.5);
    if (hits_ < kWakingHits) return;
    resting_ = false;
    hits_ = 0;
    balance_ = kWakingStake;
  }

 private:
  // In passes: kMostSaved, the limit of remembered gains; kAtOnce, what may be lost before the
  // first rest; kWakingStake, the balance after a rest that right guesses ended. kWakingHits: right
  // guesses that end a rest. kDoubted: trust below which a text begins at rest.
  static constexpr double kMostSaved = 6, kAtOnce = 0.7, kWakingHits = 3, kWakingStake = 0.3,
                          kDoubted = 0.3;
  static constexpr int kInterval = 24;  // cycles without drafting before a probe

  double balance_;  // net gain since the drafter last left rest
  double most_saved_;
  double net_ = 0;   // net gain in this answer
  double hits_ = 0;  // right first guesses during this rest, less half of the wrong ones
  double trust_;
  bool resting_, failed_ = false;
  int idle_ = 0;  // cycles since the drafter last drafted
};

}  // namespace foretoken
