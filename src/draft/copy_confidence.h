// How far to trust a copy: the more words before it stand before its source, too, the likelier it
// goes on like it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/types.h"

namespace foretoken {

// The tokens that end `text` and stand right before position `place` of it, too; at most `most`.
inline int MatchBefore(std::span<const Token> text, int place, int most) {
  const int size = static_cast<int>(text.size());
  int matched = 0;
  while (matched < std::min(most, place) && text[static_cast<size_t>(place - 1 - matched)] ==
                                                text[static_cast<size_t>(size - 1 - matched)]) {
    ++matched;
  }
  return matched;
}

// The log-probability given to each token of a run copied from position `place` of `text` after its
// end. A guess for every class of match; what it is worth is for the tree's policy to learn.
inline float CopyConfidence(std::span<const Token> text, int place) {
  constexpr std::array kByMatch{0.4f, 0.4f, 0.55f, 0.7f, 0.7f, 0.85f, 0.85f, 0.85f, 0.93f};
  const int matched = MatchBefore(text, place, static_cast<int>(kByMatch.size()) - 1);
  return std::log(kByMatch[static_cast<size_t>(matched)]);
}

}  // namespace foretoken
