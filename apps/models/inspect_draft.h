// foretoken inspect: what a trained draft is for.
#pragma once

#include "base/json_fwd.h"
#include "io/draft_file.h"

namespace foretoken {

// The method, the drafter that takes it (null: none does), the target it was trained for, what it
// reads of that and what it shares with it.
Json DraftJson(const DraftInfo& info);
// The same in lines.
void PrintDraft(const DraftFile& draft);

}  // namespace foretoken
