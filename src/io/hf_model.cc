#include "io/hf_model.h"

namespace foretoken {

Result<std::unique_ptr<ModelFile>> OpenHuggingFace(const std::string& directory) {
  return Error{directory + ": is a directory, expected a .gguf file"};
}

}  // namespace foretoken
