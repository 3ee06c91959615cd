// Checks of number lists in cost files.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/json.h"

namespace foretoken {

// Whether `json` is an array of `count` numbers, each at least `low` and below 1e6.
inline bool AreNumbers(const Json& json, size_t count, double low) {
  if (!json.is_array() || json.size() != count) return false;
  return std::all_of(json.begin(), json.end(), [low](const Json& value) {
    return value.is_number() && value.get<double>() >= low && value.get<double>() < 1e6;
  });
}

}  // namespace foretoken
