// Sends a drafter to rest while it loses time, and lets it try again later.
#pragma once

#include <algorithm>

namespace foretoken {

// One a sequence. The unit is the time of a plain pass, in which plain decoding writes one token.
class Governor {
 public:
  // Whether the next cycle had better be plain.
  bool resting() const { return rest_ > 0; }

  // A cycle wrote `tokens` and cost `passes` plain passes.
  void Observe(double tokens, double passes) {
    if (rest_ > 0) {
      --rest_;
      return;
    }
    // Gains are remembered, but not for ever: text changes.
    balance_ = std::min(balance_ + tokens - passes, kMostSaved);
    if (balance_ > -allowance_) return;
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kLongestRest);
    allowance_ = kLaterAllowance;
    balance_ = 0;
  }

 private:
  static constexpr double kMostSaved = 4, kLaterAllowance = 1;
  static constexpr int kLongestRest = 512;

  double balance_ = 0;    // passes won since the last rest
  double allowance_ = 2;  // passes that may be lost before the next
  int rest_ = 0, next_rest_ = 64;
};

}  // namespace foretoken
