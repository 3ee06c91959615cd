#include "base/active_threads.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// Time constant, in CPU seconds, over which losses are summed, and the fraction of it at which
// losses remove a thread.
constexpr double kWindow = 0.01;
constexpr double kBearable = 0.2;
constexpr double kShortestPause = 1e-3, kLongestPause = 1.0;
// A thread was added too early if losses follow within this CPU time, in seconds, or this many
// pauses, whichever is longer.
constexpr double kShortestTrial = 0.02, kTrialPauses = 8;

}  // namespace

void ActiveThreads::OnLost(double now, double ran, double thread_seconds) {
  lost_ = lost_ * std::exp((last_loss_ - ran) / kWindow) + thread_seconds;
  last_loss_ = ran;
  if (count_ == 1 || lost_ < kBearable * kWindow) return;
  lost_ = 0;
  rising_ = false;
  --count_;
  if (ran - raised_ > std::max(kShortestTrial, kTrialPauses * pause_)) pause_ = 0;
  PauseLonger(now);
}

void ActiveThreads::OnTried(double now, double ran, bool core_was_free) {
  if (!core_was_free) return PauseLonger(now);
  ++count_;
  raised_ = ran;
  if (rising_) pause_ /= 2;
  rising_ = true;
  next_try_ = now + pause_ / 8;
}

void ActiveThreads::PauseLonger(double now) {
  pause_ = std::clamp(2 * pause_, kShortestPause, kLongestPause);
  next_try_ = now + pause_;
}

}  // namespace foretoken
