// Medians, and how far they can be trusted.
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

// Where a statistic of `count` things would lie in `share` of the samples of that size, by the
// percentile bootstrap over `resamples` draws with replacement. `statistic` gets the places drawn,
// below `count`. The same for the same arguments. REQUIRES: count >= 1, resamples >= 1.
Interval Bootstrap(size_t count,
                   const std::function<double(std::span<const size_t> drawn)>& statistic,
                   double share = 0.95, int resamples = 2000, uint64_t seed = 0);

// The same for the median. REQUIRES: values not empty.
Interval BootstrapMedian(std::span<const double> values, double share = 0.95, int resamples = 2000,
                         uint64_t seed = 0);

}  // namespace foretoken
