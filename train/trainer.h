// The training loop of every method.
#pragma once

#include <string>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Trains until the schedule ends, or SIGINT/SIGTERM asks to stop; continues from a checkpoint in
// `out`. What is trained is options.recipe.method. On the CPU a resumed run repeats the
// uninterrupted one bit for bit, unless a time budget drives the schedule. Errors: recipe, data,
// target, files; a run that was begun otherwise (run_record.h); results that are not finite, in
// which case the last checkpoint stays. A checkpoint is written once the step after it has shown
// that its weights have a finite loss.
Status Train(const TrainOptions& options);

}  // namespace foretoken::train
