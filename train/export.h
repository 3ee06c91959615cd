// Checkpoints as models that other programs load.
#pragma once

#include <string>

#include "base/result.h"
#include "io/quantize_model.h"
#include "recipe.h"

namespace foretoken::train {

struct CheckpointInfo;
struct Method;

// What an export is to become.
struct ExportRequest {
  std::string checkpoint;  // directory
  std::string path;
  FileType type = FileType::kBF16;
  std::string target;  // drafters: the target, where it is no longer where it was; or ""
  std::string ranks;   // drafters: a file of foretoken rank-tokens to be kept in the draft; or ""
  std::string layout;  // drafters: of whose server `path` becomes the directory; "": a GGUF file
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

// The same of a directory for request.layout.
Status CheckServedPath(const ExportRequest& request);

// Writes a drafter's checkpoint as the directory that another server loads
// (docs/serve_elsewhere.md). Errors: those of the method's export and of WriteServedDraft; a type
// other than F32, F16 and BF16.
Status ExportServed(const ExportRequest& request, const CheckpointInfo& info, const Method& method);

}  // namespace foretoken::train
