#include "base/rng.h"

namespace foretoken {

int Draw(std::span<const float> weights, double u) {
  double sum = 0;
  for (float w : weights) sum += w;
  const double target = u * sum;
  double below = 0;
  int last = -1;  // the last partial sum may be below the target by rounding
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = static_cast<int>(i);
    below += weights[i];
    if (below > target) break;
  }
  return last;
}

}  // namespace foretoken
