// Ratios that tolerate a zero denominator, and integer quotients rounded up.
#pragma once

#include <concepts>

namespace foretoken {

// numerator / denominator; 0 if the denominator is not positive.
inline double Ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

// count / size, rounded up. REQUIRES: count >= 0, size > 0.
template <std::integral T>
constexpr T DivideUp(T count, T size) {
  return (count + size - 1) / size;
}

// The least multiple of `size` that is at least `count`. REQUIRES: count >= 0, size > 0.
template <std::integral T>
constexpr T RoundUp(T count, T size) {
  return DivideUp(count, size) * size;
}

}  // namespace foretoken
