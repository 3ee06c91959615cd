// Quotients that need care: of what may be nothing, and whole ones rounded up.
#pragma once

#include <concepts>

namespace foretoken {

// 0 where there is nothing to divide by.
inline double Ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

// How many times `size` make at least `count`. REQUIRES: count >= 0, size > 0.
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
