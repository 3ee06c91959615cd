// U+2581, which represents a space in SentencePiece vocabularies.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace foretoken {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";

// `piece` with every mark replaced by a space.
inline std::string UnmarkSpaces(std::string_view piece) {
  std::string plain;
  while (!piece.empty()) {
    const size_t n = std::min(piece.find(kSpaceMark), piece.size());
    plain += piece.substr(0, n);
    piece.remove_prefix(n);
    if (piece.empty()) break;
    plain += ' ';
    piece.remove_prefix(kSpaceMark.size());
  }
  return plain;
}

}  // namespace foretoken
