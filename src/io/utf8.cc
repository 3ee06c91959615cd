#include "io/utf8.h"

#include <cstdint>
#include <cstdio>

namespace foretoken {
namespace {

struct Lead {
  int continuations;
  uint32_t bits, smallest;
};

bool ParseLead(uint8_t byte, Lead& lead) {
  if (byte < 0x80)
    lead = {0, byte, 0};
  else if ((byte & 0xe0) == 0xc0)
    lead = {1, byte & 0x1fu, 0x80};
  else if ((byte & 0xf0) == 0xe0)
    lead = {2, byte & 0x0fu, 0x800};
  else if ((byte & 0xf8) == 0xf0)
    lead = {3, byte & 0x07u, 0x10000};
  else
    return false;
  return true;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    Lead lead;
    if (!ParseLead(static_cast<uint8_t>(text[i++]), lead)) return false;
    uint32_t code = lead.bits;
    for (int k = 0; k < lead.continuations; ++k, ++i) {
      if (i == text.size() || (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return false;
      code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3fu);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    if (code < lead.smallest || code > 0x10ffff || surrogate) return false;
  }
  return true;
}

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
