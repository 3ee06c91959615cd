// Texts of clients in errors, cut to what can be read.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// `text`, which is UTF-8, or its first `most` bytes or a few fewer and "...".
inline std::string Brief(std::string_view text, size_t most = 40) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "...";
}

}  // namespace foretoken
