// The training loop of every method.
#pragma once

#include <string>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Trains options.recipe.method until the schedule ends or SIGINT/SIGTERM arrives. Resumes from a
// checkpoint in options.out. On the CPU a resumed run repeats the uninterrupted one bit for bit,
// unless a time budget drives the schedule. A checkpoint is written only after the next step has
// shown that the checkpoint's weights have a finite loss. Errors: an invalid recipe; data, a target
// or files that cannot be used; a run begun with other settings (run_record.h); results that are
// not finite, in which case the last checkpoint stays.
Status Train(const TrainOptions& options);

}  // namespace foretoken::train
