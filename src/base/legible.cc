#include "base/legible.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace foretoken {
namespace {

void AppendEscaped(char c, std::string& out) {
  char escaped[5];
  std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<uint8_t>(c));
  out += escaped;
}

}  // namespace

std::string Legible(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    for (const char c : text.substr(0, valid)) {
      const auto byte = static_cast<uint8_t>(c);
      if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
        AppendEscaped(c, shown);
      } else {
        shown += c;
      }
    }
    if (valid < text.size()) AppendEscaped(text[valid], shown);
    text.remove_prefix(std::min(valid + 1, text.size()));
  }
  return shown;
}

std::string Printable(std::string_view text) {
  constexpr size_t kMost = 80;
  const bool valid = IsUtf8(text);
  std::string shown;
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && (!valid || text.size() > kMost))) {
      AppendEscaped(c, shown);
    } else {
      shown += c;
    }
  }
  return text.size() > kMost ? shown + "..." : shown;
}

}  // namespace foretoken
