// Sends a drafter to rest while it loses time, and lets it try again later.
#pragma once

#include <algorithm>
#include <optional>

namespace foretoken {

// One a sequence. The unit is the time of a plain pass, in which plain decoding writes one token.
class Governor {
 public:
  // Whether the next cycle had better be plain.
  bool resting() const { return rest_ > 0; }

  // A cycle that drafted wrote `tokens` and cost `passes` plain passes.
  void Observe(double tokens, double passes) {
    // Gains are remembered, but not for ever: text changes.
    balance_ = std::min(balance_ + tokens - passes, kMostSaved);
    if (balance_ > -allowance_) return;
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kLongestRest);
    allowance_ = kLaterAllowance;
    balance_ = hits_ = 0;
  }

  // A cycle of rest. `came_true`: whether the drafter's best first guess did; nothing if there was
  // none. Guesses that come true end the rest.
  void ObserveResting(std::optional<bool> came_true) {
    --rest_;
    if (!came_true) return;
    hits_ = *came_true ? hits_ + 1 : std::max(0.0, hits_ - 0.5);
    if (hits_ >= kWakingHits) rest_ = 0;
  }

 private:
  static constexpr double kMostSaved = 4, kLaterAllowance = 1, kWakingHits = 3;
  static constexpr int kLongestRest = 512;

  double balance_ = 0;    // passes won since the last rest
  double allowance_ = 2;  // passes that may be lost before the next
  double hits_ = 0;  // first guesses that came true in this rest, less half of those that did not
  int rest_ = 0, next_rest_ = 64;
};

}  // namespace foretoken
