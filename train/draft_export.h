// Exports drafters' checkpoints as draft files (docs/formats.md, "Draft checkpoints").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint_file.h"
#include "export.h"
#include "io/draft_file.h"

namespace foretoken::train {

// Maps the name of a checkpoint's tensor to its name in a draft file; "" if the file has no such
// tensor.
using DraftName = std::function<std::string(const std::string&)>;

// Returns the metadata of a draft with `heads` output heads over the hidden states `taps`. The
// draft shares the target's LM head if the recipe's setting `shared_output` is not 0, and the
// target's embedding if `shares_embedding`.
DraftInfo InfoOfHeads(const Recipe& recipe, std::vector<int> taps, int heads,
                      bool shares_embedding);

// Writes the checkpoint's weights as a draft file. `draft`: the metadata that depend on the method.
// This function adds the target, the record of training, draft.method if that is empty, and the
// geometry: `layers` decoder layers of the target's shape, or of the sizes in draft.blocks if
// draft.blocks.hidden is not 0. Errors: a target or ranking that cannot be read or does not fit, a
// tensor for which `name` returns "", a path that does not end in .gguf, file-system errors.
Status ExportDraft(const ExportRequest& request, const CheckpointInfo& info, DraftInfo draft,
                   int layers, const DraftName& name);

}  // namespace foretoken::train
