#include "runtime/context.h"

#include <algorithm>
#include <string>

namespace foretoken {

Result<int> ChooseContext(int asked, const ModelConfig& config, size_t usual) {
  if (asked > config.context) {
    return Error{"a context of " + std::to_string(asked) +
                 " tokens exceeds the model's context of " + std::to_string(config.context)};
  }
  if (asked > 0) return asked;
  return static_cast<int>(std::min(usual, static_cast<size_t>(config.context)));
}

}  // namespace foretoken
