#include "base/utf8.h"

#include <cstring>

namespace foretoken {
namespace {

// What the first byte implies: total length, and the range of the second byte.
struct Lead {
  uint8_t length, low, high;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Number of bytes before the first invalid one, at most `lead.length`. REQUIRES: `lead` is that of
// the first byte, and its length is not 0.
size_t MatchingBytes(std::string_view text, Lead lead) {
  size_t n = 1;
  for (; n < lead.length && n < text.size(); ++n) {
    const uint8_t byte = static_cast<uint8_t>(text[n]);
    const uint8_t low = n == 1 ? lead.low : 0x80, high = n == 1 ? lead.high : 0xBF;
    if (byte < low || byte > high) break;
  }
  return n;
}

}  // namespace

size_t Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const Lead lead = LeadOf(static_cast<uint8_t>(text[0]));
  if (lead.length <= 1) return lead.length;
  return MatchingBytes(text, lead) == lead.length ? lead.length : 0;
}

bool IsUtf8Prefix(std::string_view text) {
  if (text.empty()) return false;
  const Lead lead = LeadOf(static_cast<uint8_t>(text[0]));
  return lead.length > text.size() && MatchingBytes(text, lead) == text.size();
}

size_t ValidUtf8Prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t word;
    while (i + sizeof(word) <= text.size()) {
      std::memcpy(&word, text.data() + i, sizeof(word));
      if ((word & 0x8080808080808080ull) != 0) break;
      i += sizeof(word);
    }
    const size_t n = Utf8SequenceLength(text.substr(i));
    if (n == 0) break;
    i += n;
  }
  return i;
}

void AppendUtf8(uint32_t code_point, std::string& out) {
  const auto continuation = [&](int shift) {
    out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    continuation(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    continuation(6);
    continuation(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

uint32_t DecodeUtf8(std::string_view sequence) {
  const uint8_t first = static_cast<uint8_t>(sequence[0]);
  if (sequence.size() == 1) return first;
  uint32_t value = first & (0x7F >> sequence.size());
  for (size_t i = 1; i < sequence.size(); ++i) {
    value = value << 6 | (static_cast<uint8_t>(sequence[i]) & 0x3F);
  }
  return value;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    out += text.substr(0, valid);
    text.remove_prefix(valid);
    if (text.empty()) break;
    out += "\xEF\xBF\xBD";
    text.remove_prefix(1);
  }
  return out;
}

}  // namespace foretoken
