// Sends a drafter to rest while it loses time, and lets it try again later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace foretoken {

// One a sequence. The unit is the time of a plain pass, in which plain decoding writes one token.
class Governor {
 public:
  enum class Verdict : uint8_t { kNone, kRest, kGain };

  // `trust`: DraftCosts::trust. What lost time in other sequences begins with a rest, and a long
  // one; its guesses can still end it.
  explicit Governor(double trust = 1) {
    allowance_ = std::max(kLaterAllowance, allowance_ * trust);
    if (trust > kDistrust) return;
    rest_ = next_rest_ = std::min(static_cast<int>(next_rest_ / (2 * trust)), kLongestRest);
  }

  // Whether the next cycle had better be plain.
  bool resting() const { return rest_ > 0; }

  // A cycle that drafted wrote `tokens` and cost `passes` plain passes. Returns kRest where the
  // next cycles had better be plain, kGain where the most is won that is remembered.
  Verdict Observe(double tokens, double passes) {
    // Gains are remembered, but not for ever: text changes.
    const double before = balance_;
    balance_ = std::min(balance_ + tokens - passes, kMostSaved);
    if (balance_ == kMostSaved && before < kMostSaved) return Verdict::kGain;
    if (balance_ > -allowance_) return Verdict::kNone;
    rest_ = next_rest_;
    next_rest_ = std::min(2 * next_rest_, kLongestRest);
    allowance_ = kLaterAllowance;
    balance_ = hits_ = 0;
    return Verdict::kRest;
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
  static constexpr double kMostSaved = 4, kLaterAllowance = 1, kWakingHits = 3, kDistrust = 0.3;
  static constexpr int kLongestRest = 512;

  double balance_ = 0;    // passes won since the last rest
  double allowance_ = 2;  // passes that may be lost before the next
  double hits_ = 0;  // first guesses that came true in this rest, less half of those that did not
  int rest_ = 0, next_rest_ = 64;
};

}  // namespace foretoken
