// The result of a draft's training run: a draft file and its acceptance length.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Returns the number of steps that the run in options.out has taken, or -1 if there is no readable
// checkpoint or options.force starts over.
int64_t StepsBefore(const TrainOptions& options);

// Finishes a draft's run after Train. `steps_before`: the result of StepsBefore before Train. If
// the run has reached the end of its schedule, writes its draft (MeasuredDraftPath in
// own_answers.h) and measures it in the target's answers to held-out questions. Stores the result
// in the run's directory and in the draft file, and reports it on standard error. An existing draft
// file is kept unless the run has trained further. A failed measurement is reported but is not an
// error. Errors: a checkpoint that cannot be read; errors of the export.
Status FinishDraft(const Method& method, const TrainOptions& options, int64_t steps_before);

}  // namespace foretoken::train
