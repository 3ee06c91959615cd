// A quotient of counts or times that may be none.
#pragma once

namespace foretoken {

// 0 where there is nothing to divide by.
inline double Ratio(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

}  // namespace foretoken
