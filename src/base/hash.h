// A hash of bytes that files on disk may hold: the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace foretoken {

// Chains h = Mix(h ^ word) over 8-byte little-endian words, the last one filled up with zeros, from
// h = Mix(number of bytes).
uint64_t HashBytes(std::span<const std::byte> bytes);

// HashBytes of all bytes of a file, in 16 hexadecimal digits. Errors: those of reading it.
Result<std::string> HashFile(const std::string& path);
// A hash as HashFile shows it.
std::string HexDigits(uint64_t hash);

}  // namespace foretoken
