// Sets of Unicode characters, and their UTF-8 encodings.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/rules.h"

namespace foretoken {

inline constexpr uint32_t kLastCode = 0x10FFFF;

// A range of byte values, both ends included, and a sequence of one to four of them.
struct ByteRange {
  uint8_t first, last;
};
using ByteRanges = std::vector<ByteRange>;

// The characters of `ranges` as ascending, non-adjacent ranges, without surrogates and values
// beyond kLastCode.
std::vector<CodeRange> Normalised(std::vector<CodeRange> ranges);
// All characters that are not in `ranges`.
std::vector<CodeRange> Complement(std::vector<CodeRange> ranges);
// Characters of `ranges` that are not in `others`.
std::vector<CodeRange> Without(std::vector<CodeRange> ranges, std::vector<CodeRange> others);

// The UTF-8 encodings of the characters in `ranges`, as sequences no two of which match the same
// bytes.
std::vector<ByteRanges> Utf8Ranges(std::vector<CodeRange> ranges);

}  // namespace foretoken
