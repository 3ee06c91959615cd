// The run that a directory holds, if any.
#pragma once

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Fills options.begun and options.kept: whether the run in options.out goes on, and what it is
// begun with. With options.force its checkpoint and what was measured of it are removed. Errors:
// data or target that cannot be read; a damaged checkpoint; a run that was begun otherwise
// (run_record.h).
Status FindRun(const Method& method, TrainOptions& options);

}  // namespace foretoken::train
