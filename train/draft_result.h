// What a run of a draft ends with: a draft file, and the tau that it has.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Steps that the run in options.out has taken, where training goes on with it; -1 where it begins.
int64_t StepsBefore(const TrainOptions& options);

// After Train, before which the run had taken `steps_before` (StepsBefore). Where the run has
// reached the end of its schedule: writes its draft (own_answers.h, MeasuredDraftPath), has the
// target answer held-out questions with it, keeps what was found in the run's directory and in the
// file, and says so on standard error. A draft file that is there already stays as it is unless the
// run has learnt more since. A measurement that fails is told, and is no error. Errors: the
// checkpoint's, the export's.
Status FinishDraft(const Method& method, const TrainOptions& options, int64_t steps_before);

}  // namespace foretoken::train
