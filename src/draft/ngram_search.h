// Exact n-gram search in a text, shared by copying drafters.
#pragma once

#include <algorithm>
#include <span>

#include "base/types.h"

namespace foretoken {

// The position in `text` right after the first occurrence of `ngram` (not empty) that lies within
// the first `count` tokens; -1 if there is none.
inline int FirstPlaceAfter(std::span<const Token> text, std::span<const Token> ngram, int count) {
  if (count < static_cast<int>(ngram.size())) return -1;
  const auto searched = text.first(static_cast<size_t>(count));
  const auto found = std::search(searched.begin(), searched.end(), ngram.begin(), ngram.end());
  if (found == searched.end()) return -1;
  return static_cast<int>(found - searched.begin()) + static_cast<int>(ngram.size());
}

}  // namespace foretoken
