// Drafts as their authors publish them, under the names of docs/formats.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/draft_file.h"

namespace foretoken {

// Whether `path` is a directory, or weights that are no GGUF file (.safetensors, .bin, .pt).
bool IsPublishedDraft(const std::string& path);

// EAGLE, HASS, EAGLE-3 and GLIDE: config.json and model.safetensors or pytorch_model.bin. Medusa:
// medusa_lm_head.safetensors or medusa_lm_head.pt, Hydra++ the same with hydra_lm_head. EDD:
// draft_model.safetensors or draft_model.pt, which leave the geometry of its layer to the target,
// as Chimera's chimera_head.pt, trimlp.pt and fast_layer1.pt and Hydra's files do. What the target
// is, such files say by hidden size and vocabulary only, GLIDE's by the size of its heads, too.
// Errors name file and tensor: weights of another layout, shapes that no draft has.
Result<std::unique_ptr<DraftFile>> OpenPublishedDraft(const std::string& path);

// Our name of a tensor of an EDD draft as its authors call it, "" for one that no such draft has.
std::string EddTensorName(std::string_view published);

}  // namespace foretoken
