// A check for NaN.
#pragma once

#include <cstdint>
#include <span>

namespace foretoken {

// Whether any value is NaN. Reads all of them, because only a loop without an early exit is
// vectorised.
inline bool HasNaN(std::span<const float> values) {
  int32_t found = 0;
  for (const float x : values) found |= static_cast<int32_t>(x != x);
  return found != 0;
}

}  // namespace foretoken
