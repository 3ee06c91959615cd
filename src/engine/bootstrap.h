// Medians and bootstrap confidence intervals.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace foretoken {

// The middle value, or the mean of the two in the middle. REQUIRES: values not empty.
double Median(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

// Percentile-bootstrap confidence interval at level `share` for a statistic of `count` items, from
// `resamples` samples of `count` items drawn with replacement. `statistic` receives the indices
// drawn, each below `count`. Deterministic. REQUIRES: count >= 1, resamples >= 1.
Interval Bootstrap(size_t count,
                   const std::function<double(std::span<const size_t> drawn)>& statistic,
                   double share = 0.95, int resamples = 2000, uint64_t seed = 0);

// Bootstrap for items that were each measured once in every one of `passes` passes, where
// measurements of one pass share a disturbance. Resamples passes as well as items. Each resample
// draws `passes` - 3 passes, at least one: drawing all `passes` would understate the variance for
// two reasons. Resampling scales it by (passes - 1) / passes (Rao and Wu, 1988), and an estimate
// from so few passes has the variance of Student's t, which is 1 + 2 / (passes - 3), not 1. With
// four passes or fewer the interval is still too narrow. REQUIRES: passes >= 1, and those of
// Bootstrap.
Interval BootstrapPasses(size_t passes, size_t count,
                         const std::function<double(std::span<const size_t> drawn_passes,
                                                    std::span<const size_t> drawn)>& statistic,
                         double share = 0.95, int resamples = 2000, uint64_t seed = 0);

// Bootstrap interval for the median of `values`. REQUIRES: values not empty, resamples >= 1.
Interval BootstrapMedian(std::span<const double> values, double share = 0.95, int resamples = 2000,
                         uint64_t seed = 0);

}  // namespace foretoken
