// Drafts as their authors publish them, under the names of docs/formats.md.
#pragma once

#include <memory>
#include <string>

#include "io/draft_file.h"

namespace foretoken {

// Whether `path` is a directory, or weights that are no GGUF file (.safetensors, .bin, .pt).
bool IsPublishedDraft(const std::string& path);

// EAGLE and HASS: config.json and model.safetensors or pytorch_model.bin. Medusa:
// medusa_lm_head.safetensors or medusa_lm_head.pt. What the target is, such files say by hidden
// size and vocabulary only. Errors name file and tensor: weights of another layout, shapes that no
// draft has.
Result<std::unique_ptr<DraftFile>> OpenPublishedDraft(const std::string& path);

}  // namespace foretoken
