// Writing .safetensors files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct SafetensorsTensor {
  std::string name, dtype;     // "F32", "F16", "BF16", "I64", ...
  std::vector<int64_t> shape;  // outermost first
  std::string bytes;           // row-major, little-endian
};

// The header of a file with these tensors in this order, including its 8-byte length; padded to a
// multiple of 8 bytes. `metadata` is a JSON object of strings, as text.
std::string SafetensorsHeader(std::span<const SafetensorsTensor> tensors,
                              const std::string& metadata);

// Writes the tensors to `path`, all or nothing. Errors: those of OutputFile.
Status WriteSafetensorsFile(const std::string& path, std::span<const SafetensorsTensor> tensors);

}  // namespace foretoken
