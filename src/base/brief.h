// Shortens text that is quoted in messages.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// `text` if it has at most `most` bytes. Otherwise its first `most` bytes, or fewer so that no
// character is cut, followed by "...". REQUIRES: `text` is UTF-8.
inline std::string Brief(std::string_view text, size_t most = 40) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

}  // namespace foretoken
