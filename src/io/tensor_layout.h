// Checks of tensor positions in a file, shared by GGUF and safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/model_file.h"

namespace foretoken {

// Offset from the start of the tensor data, and size, in bytes.
struct TensorExtent {
  uint64_t offset, size;
};

// Bytes of a tensor. Errors (predicates such as "has shape [0]..."): an empty dimension, a size
// that overflows 63 bits, rows that are not a whole number of blocks.
Result<uint64_t> TensorBytes(DType type, std::span<const int64_t> shape);

// "[2, 3]"
std::string ShapeText(std::span<const int64_t> shape);

// Sets each tensor's bytes to its extent of `data`. Errors name `path` and the tensor: the extent
// exceeds the data or overlaps another one. REQUIRES: extents.size() == tensors.size().
Status PlaceTensorBytes(const std::string& path, std::span<const std::byte> data,
                        std::span<const TensorExtent> extents, std::span<TensorSource> tensors);

}  // namespace foretoken
