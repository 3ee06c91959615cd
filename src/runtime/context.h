// Choice of the context length.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

inline constexpr size_t kUsualContext = 4096;  // tokens; default for conversations

// Returns `asked` tokens; if `asked` is 0, the lesser of the model's context and `usual`. Errors:
// `asked` exceeds the model's context.
Result<int> ChooseContext(int asked, const ModelConfig& config, size_t usual);

}  // namespace foretoken
