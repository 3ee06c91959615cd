// Expands sweeps, entries of a paper's table that stand for several entries: {"name": "K=$K",
// "for": {"K": [10, 20]}, ...}.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

// Replaces every entry of `list` that has "for" by one entry for each combination of its variables'
// values; the last variable varies fastest. "$K" in the entry's strings becomes the value of K.
// "layers" means 1 to `layers`, "layers from 0" means 0 to `layers` - 1. Errors, which begin with
// `where`: `list` is not a list, a sweep is malformed.
Result<std::vector<Json>> ExpandSweeps(const Json& list, const std::string& where, int layers);

}  // namespace foretoken
