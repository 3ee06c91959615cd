// Lengths of texts as clients count them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace foretoken::openai {

// Whether a byte of UTF-8 is the first of its character.
inline bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

// Characters that begin in `text`: one that is divided between two texts is of the first.
inline int CodePoints(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

}  // namespace foretoken::openai
