// The files of a training run, which it writes again and again.
#pragma once

#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

// Errors: a pipe, a folder or a device where the run in `out` keeps a file: opening it could wait
// for ever.
Status CheckRunFiles(const std::string& out);

// Errors: data in the folder of the run itself; data that are a file of the run in `out`
// themselves, by whatever name or link: the run would replace them. `base`: where relative patterns
// are looked up.
Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out);

}  // namespace foretoken::train
