// The training loop of every method.
#pragma once

#include <string>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Trains options.recipe.method until the schedule ends or SIGINT/SIGTERM arrives. Resumes from the
// checkpoint in options.out, if there is one, unless options.force is set. On the CPU a resumed run
// is bit-identical to an uninterrupted one, unless a time budget drives the schedule. A checkpoint
// is written only once its weights are known to give finite results: by the loss and gradients of
// the next step or, for the last checkpoint, by an evaluation. Errors: an invalid recipe; data, a
// target or files that cannot be used; a run in options.out that was begun with other settings,
// unless options.changes names them (run_record.h) and the run trains further; results that are not
// finite, in which case the previous checkpoint is kept.
Status Train(const TrainOptions& options);

}  // namespace foretoken::train
