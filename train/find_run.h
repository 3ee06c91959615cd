// Finds the run that a directory holds, if any.
#pragma once

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Fills options.begun, the record of this run, and options.kept, what a resumed run in options.out
// depends on. With options.force, removes the checkpoint and the measurements of the run in
// options.out. Errors: data or target that cannot be read; a damaged checkpoint; a run begun with
// other settings (run_record.h).
Status FindRun(const Method& method, TrainOptions& options);

}  // namespace foretoken::train
