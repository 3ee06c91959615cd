#include "engine/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace foretoken {

double Median(std::vector<double> values) {
  FT_CHECK(!values.empty());
  const size_t n = values.size();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (n % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Interval BootstrapMedian(std::span<const double> values, double share, int resamples,
                         uint64_t seed) {
  FT_CHECK(!values.empty() && resamples >= 1);
  std::vector<double> medians, sample(values.size());
  medians.reserve(static_cast<size_t>(resamples));
  for (int r = 0; r < resamples; ++r) {
    for (size_t i = 0; i < sample.size(); ++i) {
      const double draw = Uniform(seed, static_cast<uint64_t>(r), i);
      sample[i] = values[static_cast<size_t>(draw * static_cast<double>(values.size()))];
    }
    medians.push_back(Median(sample));
  }
  std::sort(medians.begin(), medians.end());
  const auto at = [&medians](double quantile) {
    const double index = quantile * static_cast<double>(medians.size() - 1);
    return medians[static_cast<size_t>(std::lround(index))];
  };
  return {at((1 - share) / 2), at((1 + share) / 2)};
}

}  // namespace foretoken
