// Choice of the context length.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

inline constexpr size_t kUsualContext = 4096;  // default for conversations

// Returns `asked` tokens; if that is 0, the model's context but at most `usual`. Errors: `asked`
// exceeds the model's context.
Result<int> ChooseContext(int asked, const ModelConfig& config, size_t usual);

}  // namespace foretoken
