// Checkpoints of drafters as draft files (docs/formats.md, "Draft checkpoints").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint_file.h"
#include "export.h"
#include "io/draft_file.h"

namespace foretoken::train {

// The name in a draft file of a checkpoint's tensor; "" for one that has no place there.
using DraftName = std::function<std::string(const std::string&)>;

// What drafts of output heads over hidden states `taps` say of themselves: `heads` of them, scored
// by the target's LM head where the setting `shared_output` says so, and whether they share its
// embedding.
DraftInfo InfoOfHeads(const Recipe& recipe, std::vector<int> taps, int heads, bool embedding);

// Writes the weights of the checkpoint. `draft` says what is special to the method; target,
// geometry (`layers` decoder layers of the target's shape, but for the sizes that draft.blocks has
// where its width is set), the method where it is empty, and the record of training are filled in.
// Errors: the target is gone, a tensor without a name, files.
Status ExportDraft(const ExportRequest& request, const CheckpointInfo& info, DraftInfo draft,
                   int layers, const DraftName& name);

}  // namespace foretoken::train
