// Random numbers addressed by their purpose, not by how many were drawn before.
//
// The noise for (seed, position, token) is a pure function of those three, so a sequence samples
// the same tokens with any drafter, tree, batch and number of threads.
#pragma once

#include <bit>
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

// What noise is used for. Draws for different purposes are independent.
enum class Purpose : uint64_t { kDraft = 1, kAccept, kBonus };
inline uint64_t SeedFor(uint64_t seed, Purpose purpose) {
  return Mix(seed ^ (static_cast<uint64_t>(purpose) << 56));
}

// Uniform in (0, 1), addressed by (seed, stream, counter).
class UniformStream {
 public:
  UniformStream(uint64_t seed, uint64_t stream) : key_(Mix(Mix(seed) ^ stream)) {}
  double operator()(uint64_t counter) const {
    return (static_cast<double>(Mix(key_ ^ counter) >> 11) + 0.5) * 0x1.0p-53;
  }

 private:
  uint64_t key_;
};
inline double Uniform(uint64_t seed, uint64_t stream, uint64_t counter) {
  return UniformStream(seed, stream)(counter);
}

// Standard Gumbel noise for sampling the token at absolute position `pos`.
class GumbelNoise {
 public:
  GumbelNoise(uint64_t seed, Pos pos) : uniform_(seed, static_cast<uint64_t>(pos)) {}
  float operator()(Token token) const {
    const double u = uniform_(static_cast<uint64_t>(token));
    return static_cast<float>(-std::log(-std::log(u)));
  }
  // Returns false only if a token's noise is below `least`; costs a tenth of computing the noise.
  // Since -log u >= 1 - u, noise is at most -log(1 - u), and reaches `least` only if 1 - u is at
  // most e^-least, which is bounded by a power of two.
  bool MayReach(Token token, double least) const {
    if (!(least > 0)) return true;
    constexpr double kLog2E = 1.44269504, kMost = 60;  // log2(e), rounded down
    const auto halvings = static_cast<uint64_t>(least < kMost ? least * kLog2E : kMost);
    const auto bound = std::bit_cast<double>((1023 - halvings) << 52);
    return 1 - uniform_(static_cast<uint64_t>(token)) <= bound + 0x1.0p-50;
  }

 private:
  UniformStream uniform_;
};
inline float Gumbel(uint64_t seed, Pos pos, Token token) { return GumbelNoise(seed, pos)(token); }

// Draws an index from `weights` (non-negative, of any sum) by `u` in (0, 1); -1 if all are zero.
int Draw(std::span<const float> weights, double u);

}  // namespace foretoken
