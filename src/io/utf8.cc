#include "io/utf8.h"

#include <cstdint>
#include <cstdio>

#include "text/utf8.h"

namespace foretoken {
bool IsUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

std::string Printable(std::string_view text) {
  constexpr size_t kMost = 80;
  const bool valid = IsUtf8(text);
  std::string shown;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && (!valid || text.size() > kMost))) {
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", byte);
      shown += escaped;
    } else {
      shown += c;
    }
  }
  return text.size() > kMost ? shown + "..." : shown;
}

}  // namespace foretoken
