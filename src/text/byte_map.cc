#include "text/byte_map.h"

#include <array>

#include "base/utf8.h"

namespace foretoken {
namespace {

constexpr uint32_t kMappedEnd = 256 + 68;  // 68 bytes are not printable characters themselves

struct Map {
  std::array<std::string, 256> text;
  std::array<int16_t, kMappedEnd> byte;  // by code point; -1 if there is none

  Map() {
    byte.fill(-1);
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      const bool printable =
          (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
      const uint32_t code_point = printable ? b : next++;
      AppendUtf8(code_point, text[b]);
      byte[code_point] = static_cast<int16_t>(b);
    }
  }
};

const Map& TheMap() {
  static const Map map;
  return map;
}

}  // namespace

std::string_view MappedByte(uint8_t byte) { return TheMap().text[byte]; }

std::string MapBytes(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += MappedByte(static_cast<uint8_t>(c));
  return out;
}

std::string UnmapBytes(std::string_view mapped, bool* foreign) {
  std::string out;
  if (foreign != nullptr) *foreign = false;
  while (!mapped.empty()) {
    const size_t n = Utf8SequenceLength(mapped);
    const uint32_t code_point = n == 0 ? kMappedEnd : DecodeUtf8(mapped.substr(0, n));
    const int byte = code_point < kMappedEnd ? TheMap().byte[code_point] : -1;
    if (byte >= 0) {
      out += static_cast<char>(byte);
    } else {
      out += mapped.substr(0, n == 0 ? 1 : n);
      if (foreign != nullptr) *foreign = true;
    }
    mapped.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

}  // namespace foretoken
