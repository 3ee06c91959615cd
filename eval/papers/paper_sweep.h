// Expands sweeps. A sweep is an entry of a paper's table that stands for several: {"name": "K=$K",
// "for": {"K": [10, 20]}, ...}.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

// Returns `list` with each sweep expanded: an entry with the key "for" becomes one entry for each
// combination of its variables' values. The last variable varies fastest. "$K" in the entry's
// strings becomes the value of K. Instead of a list of values, a variable may have "layers" (1 to
// `layers`) or "layers from 0" (0 to `layers` - 1). Errors: `list` is not a list, a sweep is
// malformed; messages begin with `where`.
Result<std::vector<Json>> ExpandSweeps(const Json& list, const std::string& where, int layers);

}  // namespace foretoken
