// Reads Python pickles that hold a dictionary of PyTorch tensors and nothing else.
//
// A pickle is a program. This interpreter supports the instructions that such dictionaries consist
// of and the few names that construct tensors. It calls and imports nothing, and refuses everything
// else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

// A view of a storage, whose bytes are in another file of the archive.
struct PickledTensor {
  std::string name;
  std::string dtype;  // as in safetensors: "F32", "BF16", "I64", ...
  int element_bytes = 0;
  std::string storage;  // key of the storage
  int64_t offset = 0;   // in elements
  std::vector<int64_t> shape, strides;
};

// Values that are not tensors are left out. Errors begin with `origin`: an instruction or a name
// that dictionaries of tensors do not need, a truncated program, values of the wrong type.
Result<std::vector<PickledTensor>> ReadTensorPickle(std::span<const std::byte> bytes,
                                                    const std::string& origin);

}  // namespace foretoken
