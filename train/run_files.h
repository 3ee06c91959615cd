// Checks of the files that a training run writes, before it begins.
#pragma once

#include <string>

#include "base/result.h"
#include "recipe.h"

namespace foretoken::train {

// Checks that the files of the run in `out` can be opened. Errors: a pipe, folder or device at the
// path of one of them, because opening it could block forever.
Status CheckRunFiles(const std::string& out);

// Checks that the run in `out` does not write to its own data. `base`: where relative patterns are
// looked up. Errors: a data source that is the folder `out`, because the run's log would be read as
// data; a data file that is one of the run's files, through any name or link, because the run would
// overwrite it.
Status CheckDataAreApart(const Recipe& recipe, const std::string& base, const std::string& out);

}  // namespace foretoken::train
