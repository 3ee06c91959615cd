// Entries of a paper's table that stand for many: {"name": "K=$K", "for": {"K": [10, 20]}, ...}.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

// `list` with every entry that has "for" replaced by one for each value of its variables, the last
// fastest; "$K" anywhere in the entry's texts becomes the value. "layers" stands for 1 to `layers`,
// "layers from 0" for those numbers less one. Errors, opening with `where`: no list, a sweep that
// is none.
Result<std::vector<Json>> ExpandSweeps(const Json& list, const std::string& where, int layers);

}  // namespace foretoken
