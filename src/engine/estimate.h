// A running estimate of a time or of a ratio of times.
#pragma once

#include <cmath>

#include "base/json_fwd.h"

namespace foretoken {

// Times have a heavy tail: whatever else the machine does adds to them. So an observation far above
// the estimate counts little, unless the next one is as far above.
class Estimate {
 public:
  // `prior` counts as much as `weight` observations. REQUIRES: prior > 0.
  explicit Estimate(double prior, double weight = 0.5);

  // Replaces the prior. The value changes where nothing was observed, and keeps what observations
  // (or Restore) made of it elsewhere. REQUIRES: prior > 0.
  void SetPrior(double prior, double weight = 0.5);
  double value() const;
  // Observations that it rests on, at most a few; 0 where there is the prior alone.
  double observations() const { return observations_; }
  void Observe(double value);
  void Scale(double factor) { log_ += std::log(factor); }
  // It cannot be more than `value`.
  void Limit(double value);
  // Some time has passed: what rests on few observations moves towards the prior, so that one that
  // was disturbed does not decide for good.
  void Doubt();

  // [value, observations].
  Json ToJson() const;
  // Takes over what ToJson wrote. False for anything else.
  bool Restore(const Json& json);

 private:
  double log_, log_prior_, prior_weight_, observations_ = 0;
  int beyond_ = 0;  // the last observations that were far above (1) or below (-1)
};

}  // namespace foretoken
