// Running estimate of a time, or of a ratio of times.
#pragma once

#include <cmath>

#include "base/json_fwd.h"

namespace foretoken {

// Robust to the heavy tail of times, which other load on the machine only lengthens: an observation
// far above the estimate counts little, unless the next one is far above as well.
class Estimate {
 public:
  // `prior` counts as much as `weight` observations. REQUIRES: prior > 0.
  explicit Estimate(double prior, double weight = 0.5);

  // Replaces the prior. The value changes only if it rests on no observations, neither made here
  // nor restored. REQUIRES: prior > 0.
  void SetPrior(double prior, double weight = 0.5);
  double value() const;
  // Number of observations that the value rests on, capped; 0 if there is only the prior.
  double observations() const { return observations_; }
  void Observe(double value);
  void Scale(double factor) { log_ += std::log(factor); }
  // Sets an upper bound: lowers the value to at most `value`.
  void Limit(double value);
  // Ages the estimate, so that neither a disturbed observation nor a busy hour decides for good:
  // without an observation since the last call, the earlier ones lose weight, and a value that
  // rests on few observations moves towards the prior.
  void Doubt();

  // [value, observations].
  Json ToJson() const;
  // Restores what ToJson wrote. Returns false for anything else.
  bool Restore(const Json& json);

 private:
  double log_, log_prior_, prior_weight_, observations_ = 0;
  int beyond_ = 0;         // the last observation was far above (1), far below (-1) or neither (0)
  bool has_news_ = false;  // whether there was an observation since the last Doubt
};

}  // namespace foretoken
