// A hash of bytes that may be stored in files: it is the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace foretoken {

// Chains h = Mix(h ^ word) over 8-byte little-endian words, the last one padded with zeros,
// starting from h = Mix(number of bytes).
uint64_t HashBytes(std::span<const std::byte> bytes);

// HashBytes of a file's contents as 16 hexadecimal digits. Errors: the file cannot be read.
Result<std::string> HashFile(const std::string& path);
// A hash as 16 hexadecimal digits.
std::string HexDigits(uint64_t hash);

}  // namespace foretoken
