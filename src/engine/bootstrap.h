// Medians, and how far they can be trusted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace foretoken {

// The middle value, or the mean of the two in the middle. REQUIRES: values not empty.
double Median(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
};

// Where the median of `values` would lie in `share` of the samples of that size, by the percentile
// bootstrap over `resamples` draws with replacement. The same for the same arguments. REQUIRES:
// values not empty.
Interval BootstrapMedian(std::span<const double> values, double share = 0.95, int resamples = 2000,
                         uint64_t seed = 0);

}  // namespace foretoken
