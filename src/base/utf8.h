// Reading and writing of UTF-8. Invalid means what RFC 3629 forbids: overlong forms, surrogates,
// values above U+10FFFF, stray or missing continuation bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

// Length in bytes (1 to 4) of the valid sequence at the front of `text`; 0 if there is none.
size_t Utf8SequenceLength(std::string_view text);

// Whether `text` (1 to 3 bytes) could become a valid sequence by appending bytes.
bool IsUtf8Prefix(std::string_view text);

// Number of bytes at the front of `text` that are valid UTF-8.
size_t ValidUtf8Prefix(std::string_view text);

inline bool IsUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

// Appends the UTF-8 form of `code_point` to `out`. REQUIRES: a scalar value.
void AppendUtf8(uint32_t code_point, std::string& out);

// The code point of a valid sequence, as measured by Utf8SequenceLength.
uint32_t DecodeUtf8(std::string_view sequence);

// `text` with every byte that is not part of a valid sequence replaced by U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace foretoken
