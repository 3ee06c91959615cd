// The few words every layer shares.
#pragma once

#include <cstdint>

namespace foretoken {

using Token = int32_t;  // an id of the target's vocabulary
using Pos = int32_t;    // absolute position in a sequence, from 0
using Node = int32_t;   // index of a node in a candidate tree; a row of one sequence's pass

// No working network gives a logit beyond it either way, but for -infinity, which rules a token
// out.
inline constexpr float kMostLogit = 1e6f;

// A token, and the log of its share of what is chosen by.
struct RankedToken {
  Token token;
  float log_share;
};

inline constexpr Node kNoNode = -1;
inline constexpr Token kNoToken = -1;
inline constexpr Pos kNoPos = -1;

}  // namespace foretoken
