// The tensors that a model of a given configuration consists of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

// A file format's own words, for messages.
struct FormatWords {
  std::string_view layer_count;                            // the field with the number of layers
  std::string (*tensor_name)(std::string_view gguf_name);  // the format's own name of a tensor
};
extern const FormatWords kGgufWords, kHuggingFaceWords;

// Errors: a tensor that `config` needs is missing or has another shape; a layer beyond
// config.layers. Error messages begin with `origin`. REQUIRES: CheckModelConfig(config).
Status CheckTensors(const ModelConfig& config, std::span<const TensorSource> tensors,
                    const FormatWords& words, const std::string& origin);

}  // namespace foretoken
