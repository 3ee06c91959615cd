// Building blocks of kernels: conversions and an exponential that vectorises. Included by sources
// that are compiled once per instruction set, hence the internal linkage.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "train_kernels.h"

namespace foretoken::train {
namespace {

inline float Load(float x) { return x; }
inline float Load(Bf16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

template <typename T>
inline T Store(float x);
template <>
inline float Store<float>(float x) {
  return x;
}
template <>
inline Bf16 Store<Bf16>(float x) {  // round to nearest even
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return Bf16{static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

// Returns exp(x) within 3 ulp, with x clamped to [-87, 88]: the result is never 0 or infinite.
// Branch-free, so that it vectorises.
inline float Exp(float x) {
  const float clamped = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float scaled = clamped * 1.44269504f;
  const float n = std::nearbyint(scaled);
  const float r = clamped - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const int32_t exponent = (static_cast<int32_t>(n) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

// Returns the offset, in elements, of the row of (sequence, head, position) in the layout of keys
// and values.
inline int64_t KeyRow(const AttentionShape& s, int64_t sequence, int64_t head, int64_t pos) {
  return ((sequence * s.kv_heads + head) * s.length + pos) * s.head_dim;
}

}  // namespace
}  // namespace foretoken::train
