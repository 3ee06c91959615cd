// Sets of Unicode characters, and the bytes that UTF-8 writes them with.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/rules.h"

namespace foretoken {

inline constexpr uint32_t kLastCode = 0x10FFFF;

// One to four ranges of bytes, one after another.
struct ByteRange {
  uint8_t first, last;
};
using ByteRanges = std::vector<ByteRange>;

// The same characters in ascending ranges that neither touch nor hold surrogates or what lies
// beyond kLastCode.
std::vector<CodeRange> Normalised(std::vector<CodeRange> ranges);
// Every other character.
std::vector<CodeRange> Complement(std::vector<CodeRange> ranges);
// Characters of `ranges` that are not in `others`.
std::vector<CodeRange> Without(std::vector<CodeRange> ranges, std::vector<CodeRange> others);

// The characters of `ranges` as UTF-8: sequences of which no two match the same bytes.
std::vector<ByteRanges> Utf8Ranges(std::vector<CodeRange> ranges);

}  // namespace foretoken
