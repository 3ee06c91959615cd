#include "schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace foretoken::train {

Recipe WithSteps(Recipe r, int64_t sequences_in_epoch) {
  if (r.budget > 0.0) return r;  // PlanForBudget sets the steps
  if (r.epochs > 0.0) {
    const double sequences = r.epochs * static_cast<double>(sequences_in_epoch);
    const auto taken = static_cast<double>(r.batch * r.accumulate);
    r.steps = std::max<int64_t>(1, std::llround(std::ceil(sequences / taken)));
  }
  if (r.warmup_share > 0.0) {
    r.warmup = std::llround(r.warmup_share * static_cast<double>(r.steps));
  }
  return r;
}

double ScheduleProgress(const Recipe& r, int64_t step, double seconds) {
  const double by_step = static_cast<double>(step) / static_cast<double>(r.steps);
  return r.time_budget > 0.0 ? std::max(by_step, seconds / r.time_budget) : by_step;
}

double LearningRate(const Recipe& r, int64_t step, double progress) {
  const double warm =
      r.warmup > 0 ? std::min(1.0, static_cast<double>(step) / static_cast<double>(r.warmup)) : 1.0;
  const double planned = r.decay_steps > 0
                             ? static_cast<double>(step - 1) / static_cast<double>(r.decay_steps)
                             : progress;
  return warm * DecayedRate(r, std::min(planned, 1.0));
}

double DecayedRate(const Recipe& r, double at) {
  const double left = r.schedule == "cosine"   ? 0.5 * (1.0 + std::cos(std::numbers::pi * at))
                      : r.schedule == "linear" ? 1.0 - at
                                               : 1.0;
  return r.min_lr + (r.lr - r.min_lr) * left;
}

}  // namespace foretoken::train
