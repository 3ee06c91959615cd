// Lists of numbers in files of costs.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/json.h"

namespace foretoken {

// So many finite numbers, none below `low`.
inline bool AreNumbers(const Json& json, size_t count, double low) {
  if (!json.is_array() || json.size() != count) return false;
  return std::all_of(json.begin(), json.end(), [low](const Json& value) {
    return value.is_number() && value.get<double>() >= low && value.get<double>() < 1e6;
  });
}

}  // namespace foretoken
