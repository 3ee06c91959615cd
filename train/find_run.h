// Finds the run that a directory holds, if any.
#pragma once

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Fills options.begun (the record of this run), options.kept (the files in options.out that a
// resumed run depends on) and options.differences. With options.force, removes the checkpoint and
// the measurements of the run in options.out. Workers other than the leader only fill options.kept.
// Errors: those of RecordRun, ReadCheckpointInfo, CheckContinues and, if the number of steps is
// known before the data are read, CheckTrainsOn; a file that cannot be removed.
Status FindRun(const Method& method, TrainOptions& options);

// Checks that a command with differences from the run in options.out trains it further, so that no
// other settings are recorded for weights that were trained without them. `recipe`: the command's,
// with epochs converted to steps. `state`: the run's (ResumedState). Errors: the run has already
// reached the recipe's length.
Status CheckTrainsOn(const TrainOptions& options, const Recipe& recipe, const RunState& state);

}  // namespace foretoken::train
