// Checkpoints as models that other programs load.
#pragma once

#include <string>

#include "base/result.h"
#include "io/quantize_model.h"
#include "recipe.h"

namespace foretoken::train {

// What an export is to become.
struct ExportRequest {
  std::string checkpoint;  // directory
  std::string path;
  FileType type = FileType::kBF16;
  std::string target;  // drafters: the target, where it is no longer where it was; or ""
  std::string ranks;   // drafters: a file of foretoken rank-tokens to be kept in the draft; or ""
  bool force = false;  // replace what is at `path`
};

// The model that `train lm` makes of a recipe; of a drafter's recipe, its target as the recipe
// records it.
ModelConfig ConfigOf(const Recipe& recipe);

// Errors: the file that the export would replace, where it was not told to.
Status CheckExportPath(const ExportRequest& request);

// Writes the checkpoint in directory `checkpoint` as one GGUF file of the llama architecture, with
// tokenizer, chat template and a record of the training. Errors: no checkpoint or tokenizer there;
// the system's.
Status ExportGguf(const std::string& checkpoint, const std::string& path, FileType type);

// Writes it as a Hugging Face directory: config.json, generation_config.json, model.safetensors,
// tokenizer.json, tokenizer_config.json. Errors: as above; a type other than F32 and BF16.
Status ExportHuggingFace(const std::string& checkpoint, const std::string& directory,
                         FileType type);

}  // namespace foretoken::train
