#include "engine/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace foretoken {
namespace {

constexpr uint64_t kPassStream = 0x706173736573;  // separates draws of passes from those of items

// Fills `drawn` with indices below `count`, drawn with replacement.
void Draw(uint64_t seed, uint64_t resample, size_t count, std::vector<size_t>& drawn) {
  for (size_t i = 0; i < drawn.size(); ++i) {
    drawn[i] = static_cast<size_t>(Uniform(seed, resample, i) * static_cast<double>(count));
  }
}

}  // namespace

double Median(std::vector<double> values) {
  FT_CHECK(!values.empty());
  const size_t n = values.size();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(n / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (n % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Interval Bootstrap(size_t count,
                   const std::function<double(std::span<const size_t> drawn)>& statistic,
                   double share, int resamples, uint64_t seed) {
  return BootstrapPasses(
      1, count, [&](auto, std::span<const size_t> drawn) { return statistic(drawn); }, share,
      resamples, seed);
}

Interval BootstrapPasses(size_t passes, size_t count,
                         const std::function<double(std::span<const size_t> drawn_passes,
                                                    std::span<const size_t> drawn)>& statistic,
                         double share, int resamples, uint64_t seed) {
  FT_CHECK(passes >= 1 && count >= 1 && resamples >= 1);
  std::vector<double> found;
  std::vector<size_t> drawn_passes(passes > 3 ? passes - 3 : 1), drawn(count);
  found.reserve(static_cast<size_t>(resamples));
  for (int r = 0; r < resamples; ++r) {
    Draw(seed, static_cast<uint64_t>(r), count, drawn);
    Draw(seed ^ kPassStream, static_cast<uint64_t>(r), passes, drawn_passes);
    found.push_back(statistic(drawn_passes, drawn));
  }
  std::sort(found.begin(), found.end());
  const auto at = [&found](double quantile) {
    const double index = quantile * static_cast<double>(found.size() - 1);
    return found[static_cast<size_t>(std::lround(index))];
  };
  return {at((1 - share) / 2), at((1 + share) / 2)};
}

Interval BootstrapMedian(std::span<const double> values, double share, int resamples,
                         uint64_t seed) {
  std::vector<double> sample(values.size());
  const auto median = [&](std::span<const size_t> drawn) {
    for (size_t i = 0; i < sample.size(); ++i) sample[i] = values[drawn[i]];
    return Median(sample);
  };
  return Bootstrap(values.size(), median, share, resamples, seed);
}

}  // namespace foretoken
