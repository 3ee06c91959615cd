// Times have a heavy tail: whatever else the machine does only ever adds to them. So estimates move
// by bounded steps towards what they see, as a running median does.
#pragma once

#include <algorithm>

namespace foretoken {

inline constexpr double kShortest = 1e-7;  // seconds

// The part of a step to take from one logarithm towards another, -1 to 1.
inline double Towards(double from, double to) {
  constexpr double kNear = 0.1;  // logarithms less than this apart: the step shrinks with them
  return std::clamp((to - from) / kNear, -1.0, 1.0);
}

}  // namespace foretoken
