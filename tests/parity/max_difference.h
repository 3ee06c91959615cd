// How far results lie from goldens.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace foretoken {

// Fails where the sizes differ.
inline float MaxDifference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= most)) most = difference;  // NaN counts
  }
  return most;
}

}  // namespace foretoken
