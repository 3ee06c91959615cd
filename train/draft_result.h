// What a run of a draft ends with: a draft file, and the tau that it has.
#pragma once

#include "base/result.h"
#include "method.h"

namespace foretoken::train {

// Where the run has reached the end of its schedule: writes its draft (own_answers.h,
// MeasuredDraftPath), has the target answer held-out questions with it, keeps what was found in the
// run's directory and in the file, and says so on standard error. A measurement that fails is told,
// and is no error. Errors: the checkpoint's, the export's.
Status FinishDraft(const Method& method, const TrainOptions& options);

}  // namespace foretoken::train
