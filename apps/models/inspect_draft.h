// Description of trained drafts in foretoken inspect.
#pragma once

#include "base/json_fwd.h"
#include "io/draft_file.h"

namespace foretoken {

// The method, the drafter that uses it (null: none does), the target it was trained for, its inputs
// from the target and the weights it shares with it.
Json DraftJson(const DraftInfo& info);
// Prints a description of the draft as lines of text.
void PrintDraft(const DraftFile& draft);

}  // namespace foretoken
