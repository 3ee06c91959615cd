// Random numbers addressed by what they are for, not by how many were drawn before.
//
// The noise for (seed, position, token) is a pure function of those three, so a sequence samples
// the same tokens whichever drafter, tree, batch or thread count produced it.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/types.h"

namespace foretoken {

inline uint64_t Mix(uint64_t x) {  // SplitMix64 finaliser
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// What noise is for. Draws of one purpose tell nothing about those of another.
enum class Purpose : uint64_t { kDraft = 1, kAccept, kBonus };
inline uint64_t SeedFor(uint64_t seed, Purpose purpose) {
  return Mix(seed ^ (static_cast<uint64_t>(purpose) << 56));
}

// Uniform in (0, 1), addressed by (seed, stream, counter).
inline double Uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
  const uint64_t bits = Mix(Mix(Mix(seed) ^ stream) ^ counter);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1.0p-53;
}

// Standard Gumbel noise for choosing `token` at absolute position `pos`.
inline float Gumbel(uint64_t seed, Pos pos, Token token) {
  const double u = Uniform(seed, static_cast<uint64_t>(pos), static_cast<uint64_t>(token));
  return static_cast<float>(-std::log(-std::log(u)));
}

// The index that `u` in (0, 1) draws from `weights` (none negative, of any sum), or -1 where all of
// them are zero.
int Draw(std::span<const float> weights, double u);

}  // namespace foretoken
