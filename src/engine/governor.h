// Sends a drafter to rest while it loses time in a text, and lets it try again.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

namespace foretoken {

// One a text and drafter. The unit is the time of a plain pass, in which plain decoding writes one
// token. `allowed`: passes that finding out about this drafter may have cost by now.
class Governor {
 public:
  // `credit`: passes that it may lose besides, as it won more in other texts. `trust`: the share of
  // `allowed` that it may spend (DraftCosts::trust); with little of it, it begins at rest.
  explicit Governor(double credit = 0, double trust = 1)
      : balance_(credit),
        most_saved_(std::max(credit, kMostSaved)),
        trust_(trust),
        resting_(trust < kDoubted) {}

  bool resting() const { return resting_; }
  double trust() const { return trust_; }
  // Whether this cycle should draft, resting or not, to learn whether that pays by now: `passes`
  // are what it would cost if nothing came true.
  bool IsProbing(double passes, double allowed) const {
    return idle_ >= kInterval && passes <= allowed - lost();
  }
  // Passes that the next cycle may lose if nothing comes true.
  double Stake(double allowed) const {
    const double ventured = std::min(balance_, 0.0) + kAtOnce * std::min(allowed, 1.0);
    const double left = std::max(0.0, std::min(ventured, allowed - lost()));
    // Of what was won, not all at once.
    const double won = balance_ > 1 ? std::max(1.0, balance_ / 2) : std::max(balance_, 0.0);
    const double stake = won + left;
    return idle_ >= kInterval ? std::max(stake, allowed - lost()) : stake;
  }
  // Passes lost in this answer; 0 where as many were won.
  double lost() const { return std::max(0.0, -net_); }
  double net() const { return net_; }
  void BeginAnswer() {
    net_ = 0;
    failed_ = false;
  }

  // A cycle that drafted won `gain` passes, or lost them. `reading`: passes that the text took to
  // read, which say nothing of whether drafting pays. `least`: what a cycle that drafts costs at
  // least. Returns whether the drafter has failed in this answer, once: it goes to rest, or was
  // tried in vain.
  bool Observe(double gain, double reading, double least, double allowed) {
    net_ += gain - reading;
    idle_ = 0;
    if (resting_) {
      // What a probe won may be lost again.
      resting_ = gain <= 0;
      balance_ = std::max(gain, 0.0);
      return resting_ && !std::exchange(failed_, true);
    }
    // Gains are remembered, but not for ever: text changes.
    balance_ = std::min(balance_ + gain, most_saved_);
    if (Stake(allowed) >= least) return false;
    resting_ = true;
    hits_ = 0;
    return !std::exchange(failed_, true);
  }

  // A cycle that did not draft. `cost`: of asking, in passes. `came_true`: whether the best first
  // guess did, which was asked for without being scored; nothing if there was none. Guesses that
  // come true end a rest.
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
  static constexpr double kMostSaved = 6, kAtOnce = 0.7, kWakingHits = 3, kWakingStake = 0.3,
                          kDoubted = 0.3;
  static constexpr int kInterval = 24;  // cycles without drafting before it is tried

  double balance_;  // passes won since it last woke
  double most_saved_;
  double net_ = 0;   // passes won in this answer
  double hits_ = 0;  // first guesses that came true in this rest, less half of those that did not
  double trust_;
  bool resting_, failed_ = false;
  int idle_ = 0;  // cycles since it drafted
};

}  // namespace foretoken
