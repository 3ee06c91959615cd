// The files of a training run, which it writes again and again.
#pragma once

#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

// Errors: data that are a file of the run in `out` themselves, by whatever name or link: the run
// would replace them. `base`: where relative patterns are looked up.
Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out);

}  // namespace foretoken::train
