// Exports checkpoints as models for the engine and other programs.
#pragma once

#include <string>

#include "base/result.h"
#include "io/quantize_model.h"
#include "recipe.h"

namespace foretoken::train {

struct CheckpointInfo;
struct Method;

// The source, destination and options of an export.
struct ExportRequest {
  std::string checkpoint;  // directory
  std::string path;
  FileType type = FileType::kBF16;
  std::string target;  // drafters: the target, if it has moved; "": as the recipe says
  // Drafters: a file of foretoken rank-tokens to embed; "": the ranking of the run's data.
  std::string ranks;
  std::string layout;  // drafters: the server for which a directory is written; "": a GGUF file
  bool force = false;  // replace an existing `path`
};

// Returns the configuration of the model that `train lm` trains; for a drafter's recipe, that of
// its target.
ModelConfig ConfigOf(const Recipe& recipe);

// Checks that the export may write to request.path. Errors: the path exists and `force` is not set.
Status CheckExportPath(const ExportRequest& request);

// Writes the checkpoint in directory `checkpoint` as one GGUF file of the llama architecture, with
// tokenizer, chat template and a record of the training. Errors: a directory without a checkpoint
// or tokenizer; file-system errors.
Status ExportGguf(const std::string& checkpoint, const std::string& path, FileType type);

// Writes the checkpoint as a Hugging Face directory: config.json, generation_config.json,
// model.safetensors, tokenizer.json, tokenizer_config.json. Errors: those of ExportGguf; a type
// other than F32 and BF16.
Status ExportHuggingFace(const std::string& checkpoint, const std::string& directory,
                         FileType type);

// Like CheckExportPath, for a directory in the layout request.layout.
Status CheckServedPath(const ExportRequest& request);

// Writes a drafter's checkpoint as a directory for another server (docs/serve_elsewhere.md).
// Errors: those of the method's export and of WriteServedDraft; a type other than F32, F16 and
// BF16; a language model; a layout that does not support the method's drafts.
Status ExportServed(const ExportRequest& request, const CheckpointInfo& info, const Method& method);

}  // namespace foretoken::train
