#include "schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace foretoken::train {

Recipe WithSteps(Recipe r, int64_t sequences_in_epoch) {
  if (r.budget > 0.0) return r;  // PlanForBudget sets the steps
  if (r.epochs > 0.0) {
    const double sequences = r.epochs * static_cast<double>(sequences_in_epoch);
    const auto sequences_per_step = static_cast<double>(r.batch * r.accumulate);
    r.steps = std::max<int64_t>(1, std::llround(std::ceil(sequences / sequences_per_step)));
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
  const double warmup_factor =
      r.warmup > 0 ? std::min(1.0, static_cast<double>(step) / static_cast<double>(r.warmup)) : 1.0;
  const double decay_progress =
      r.decay_steps > 0 ? static_cast<double>(step - 1) / static_cast<double>(r.decay_steps)
                        : progress;
  return warmup_factor * DecayedRate(r, std::min(decay_progress, 1.0));
}

double DecayedRate(const Recipe& r, double progress) {
  const double remaining = r.schedule == "cosine"
                               ? 0.5 * (1.0 + std::cos(std::numbers::pi * progress))
                           : r.schedule == "linear" ? 1.0 - progress
                                                    : 1.0;
  return r.min_lr + (r.lr - r.min_lr) * remaining;
}

}  // namespace foretoken::train
