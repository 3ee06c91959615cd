// Hugging Face model directories: config.json, *.safetensors, tokenizer and generation files.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

// Tensors are presented under GGUF names, as stored (RoPE halves are not interleaved). Errors name
// the file of the directory and the key.
Result<std::unique_ptr<ModelFile>> OpenHuggingFace(const std::string& directory);

}  // namespace foretoken
