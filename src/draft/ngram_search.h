// Exact n-gram search in a text, shared by copying drafters.
#pragma once

#include <algorithm>
#include <span>

#include "base/types.h"

namespace foretoken {

// The position in `text` right after the first occurrence of `words` (not empty) that lies within
// the first `last` tokens; -1 if there is none.
inline int FirstPlaceAfter(std::span<const Token> text, std::span<const Token> words, int last) {
  if (last < static_cast<int>(words.size())) return -1;
  const auto searched = text.first(static_cast<size_t>(last));
  const auto found = std::search(searched.begin(), searched.end(), words.begin(), words.end());
  if (found == searched.end()) return -1;
  return static_cast<int>(found - searched.begin()) + static_cast<int>(words.size());
}

}  // namespace foretoken
