// The distance of results from goldens.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace foretoken {

// The largest absolute difference of two elements. Fails if the sizes differ.
inline float MaxDifference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;  // takes NaN, too; a later element replaces it
  }
  return most;
}

}  // namespace foretoken
