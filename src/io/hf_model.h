// Hugging Face model directories: config.json, *.safetensors, tokenizer and generation files.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "io/model_file.h"
#include "io/safetensors.h"

namespace foretoken {

// Opens a model directory. Tensors have GGUF names and keep their stored layout: RoPE halves are
// not interleaved. Errors name the file of the directory and the key.
Result<std::unique_ptr<ModelFile>> OpenHuggingFace(const std::string& directory);

// The tensor of an entry of file `path`, renamed to `name`. Errors name the file and the tensor: a
// type other than F32, F16 and BF16, an empty shape.
Result<TensorSource> TensorOfEntry(const std::string& path, const SafetensorsEntry& entry,
                                   std::string name);

}  // namespace foretoken
