// Checkpoints of drafters as draft files (docs/formats.md, "Draft checkpoints").
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint_file.h"
#include "export.h"
#include "io/draft_file.h"

namespace foretoken::train {

// Maps the name of a checkpoint's tensor to its name in a draft file; "" where the file has no
// place for the tensor.
using DraftName = std::function<std::string(const std::string&)>;

// Metadata of a draft that consists of `heads` output heads over the hidden states `taps`. It
// shares the target's LM head where the recipe's setting `shared_output` is not 0, and the target's
// embedding where `shares_embedding`.
DraftInfo InfoOfHeads(const Recipe& recipe, std::vector<int> taps, int heads,
                      bool shares_embedding);

// Writes the weights of the checkpoint as a draft file. `draft` holds what is special to the
// method. This function fills in the target, the record of training, the method where it is empty,
// and the geometry: `layers` decoder layers of the target's shape, or of the sizes in draft.blocks
// where its width is set. Errors: the target is gone, a tensor that `name` has no name for, files.
Status ExportDraft(const ExportRequest& request, const CheckpointInfo& info, DraftInfo draft,
                   int layers, const DraftName& name);

}  // namespace foretoken::train
