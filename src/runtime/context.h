// How many tokens a sequence may take.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

inline constexpr size_t kUsualContext = 4096;  // of conversations

// `asked` tokens, or where that is 0 the model's context, at most `usual`. Errors: more than the
// model's.
Result<int> ChooseContext(int asked, const ModelConfig& config, size_t usual);

}  // namespace foretoken
