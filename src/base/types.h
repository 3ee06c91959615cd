// Basic types that all layers share.
#pragma once

#include <cstdint>

namespace foretoken {

using Token = int32_t;  // token id in the target's vocabulary
using Pos = int32_t;    // absolute position in a sequence, from 0
using Node = int32_t;   // index of a node in a candidate tree; a row of one sequence's pass

// Bound on the magnitude of a working network's logits, except -infinity, which excludes a token.
inline constexpr float kMostLogit = 1e6f;

// A token with the logarithm of its probability in the distribution it is chosen from.
struct RankedToken {
  Token token;
  float log_share;
};

inline constexpr Node kNoNode = -1;
inline constexpr Token kNoToken = -1;
inline constexpr Pos kNoPos = -1;

}  // namespace foretoken
