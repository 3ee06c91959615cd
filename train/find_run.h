// Finds the run that a directory holds, if any.
#pragma once

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Fills options.begun (the record of this run) and options.kept (the files in options.out that a
// resumed run depends on). With options.force, removes the checkpoint and the measurements of the
// run in options.out. Workers other than the leader only fill options.kept. Errors: those of
// RecordRun, ReadCheckpointInfo and CheckContinues; a file that cannot be removed.
Status FindRun(const Method& method, TrainOptions& options);

}  // namespace foretoken::train
