// Checks of the files that a training run writes repeatedly.
#pragma once

#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

// Errors: a pipe, folder or device at the path of one of the files of the run in `out`; opening it
// could block forever.
Status CheckRunFiles(const std::string& out);

// Errors: data in the run's folder `out`; data that are one of the run's files, through any name or
// link, because the run would overwrite them. `base`: where relative patterns are looked up.
Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out);

}  // namespace foretoken::train
