// Python pickles that hold a dictionary of PyTorch tensors, and nothing else.
//
// A pickle is a program. This interpreter knows the instructions that such dictionaries are made of
// and the few names that stand for tensors; it calls nothing, imports nothing and refuses the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// A view of a storage, whose bytes lie elsewhere.
struct PickledTensor {
  std::string name;
  std::string dtype;  // as in safetensors: "F32", "BF16", "I64", ...
  int element_bytes = 0;
  std::string storage;  // its key
  int64_t offset = 0;   // elements
  std::vector<int64_t> shape, strides;
};

// Errors open with `origin`: an instruction or a name that no dictionary of tensors needs, a
// truncated program, values of the wrong kind. What is no tensor is left out.
Result<std::vector<PickledTensor>> ReadTensorPickle(std::span<const std::byte> bytes,
                                                    const std::string& origin);

}  // namespace foretoken
