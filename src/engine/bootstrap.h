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

// The same of things that were all measured in each of `passes` passes, where a pass says as much
// of the hour as of the things: passes are drawn as well, three fewer than there are and at least
// one. As many as there are would understate the spread, by (passes - 1) / passes in its square
// (Rao and Wu, 1988) and by how little so few tell of it, which is 1 + 2 / (passes - 3) for
// Student's t. With four passes or fewer the interval is too narrow still. REQUIRES: passes >= 1.
Interval BootstrapPasses(size_t passes, size_t count,
                         const std::function<double(std::span<const size_t> drawn_passes,
                                                    std::span<const size_t> drawn)>& statistic,
                         double share = 0.95, int resamples = 2000, uint64_t seed = 0);

// The same for the median of values of one pass. REQUIRES: values not empty.
Interval BootstrapMedian(std::span<const double> values, double share = 0.95, int resamples = 2000,
                         uint64_t seed = 0);

}  // namespace foretoken
