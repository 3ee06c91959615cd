// The confidence of copied tokens, from the length of the match before them: the longer the match
// between the end of the text and the tokens before the source, the likelier the copy.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/types.h"

namespace foretoken {

// Counts, up to `most`, how many tokens before position `place` of `text` equal the last tokens of
// `text`.
inline int MatchBefore(std::span<const Token> text, int place, int most) {
  const int size = static_cast<int>(text.size());
  int matched = 0;
  while (matched < std::min(most, place) && text[static_cast<size_t>(place - 1 - matched)] ==
                                                text[static_cast<size_t>(size - 1 - matched)]) {
    ++matched;
  }
  return matched;
}

// The match length beyond which the confidence no longer rises.
inline constexpr int kLongestMatch = 8;

// The log-probability of each token of a run copied after a match of `matched` tokens (B-18). It is
// a fixed estimate; tree policies that measure acceptance correct it.
inline float MatchConfidence(int matched) {
  constexpr std::array kByMatch{0.4f, 0.4f, 0.55f, 0.7f, 0.7f, 0.85f, 0.85f, 0.85f, 0.93f};
  static_assert(kByMatch.size() == kLongestMatch + 1);
  return std::log(kByMatch[static_cast<size_t>(std::min(matched, kLongestMatch))]);
}

// The log-probability of each token of a run that is copied from position `place` of `text` on.
inline float CopyConfidence(std::span<const Token> text, int place) {
  return MatchConfidence(MatchBefore(text, place, kLongestMatch));
}

}  // namespace foretoken
