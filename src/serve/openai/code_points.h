// Text lengths in code points, as clients count them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace foretoken::openai {

// Whether a UTF-8 byte is the first of a character.
inline bool BeginsCharacter(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

// Number of characters that begin in `text`. A character split between two texts counts for the
// first.
inline int CodePoints(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), BeginsCharacter));
}

}  // namespace foretoken::openai
