// Checks of a ModelConfig before a model is built from it, and the constants that it implies.
#pragma once

#include <string_view>

#include "backend/backend.h"
#include "io/model_file.h"

namespace foretoken {

// Errors: a size, ratio or constant that no Llama-family model can have. Error messages begin with
// `where` (a path).
Status CheckConfig(const ModelConfig& config, std::string_view where);

// Frequencies of the rotary embedding with linear, llama3 or yarn scaling and frequency factors
// applied. REQUIRES: CheckConfig(config).
RopeTable MakeRopeTable(const ModelConfig& config);

}  // namespace foretoken
