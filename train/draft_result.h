// The result of a draft's training run: a draft file and its acceptance length.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Returns the steps taken so far by the run in options.out if it is resumed; -1 for a new run.
int64_t StepsBefore(const TrainOptions& options);

// To be called after Train; `steps_before`: StepsBefore, taken before it. If the run has reached
// the end of its schedule, writes its draft (own_answers.h, MeasuredDraftPath), measures it in the
// target's answers to held-out questions, stores the result in the run's directory and in the file,
// and reports it on standard error. An existing draft file is kept unless the run has trained
// further. A failed measurement is reported but is not an error. Errors: the checkpoint's, the
// export's.
Status FinishDraft(const Method& method, const TrainOptions& options, int64_t steps_before);

}  // namespace foretoken::train
