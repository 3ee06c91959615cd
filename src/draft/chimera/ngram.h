// The last few tokens up to a position, which determine its n-gram state (C-17).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/rng.h"
#include "base/types.h"
#include "io/draft_keys.h"

namespace foretoken {

using Ngram = std::array<Token, kMostNgram>;  // the first n elements are used, the rest are 0

struct NgramHash {
  size_t operator()(const Ngram& ngram) const {
    uint64_t hash = 0;
    for (const Token token : ngram) hash = Mix(hash ^ static_cast<uint32_t>(token));
    return static_cast<size_t>(hash);
  }
};

// The n-gram that ends at `position`. At the beginning of a text, where there are fewer tokens, the
// last one is repeated: [x0 x0 x0], [x0 x1 x1], [x0 x1 x2] (C-2). `token_at`: Pos -> Token, for
// positions 0 ... position.
template <typename TokenAt>
Ngram NgramAt(int n, Pos position, const TokenAt& token_at) {
  Ngram ngram{};
  const Pos first = position - n + 1;
  for (int i = 0; i < n; ++i) {
    ngram[static_cast<size_t>(i)] = token_at(first < 0 ? std::min(i, position) : first + i);
  }
  return ngram;
}

}  // namespace foretoken
