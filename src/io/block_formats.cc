#include "io/block_formats.h"

#include <array>
#include <cmath>

#include "io/dtype.h"

namespace foretoken {
namespace {

constexpr int kBlock = 32;
using Codes = std::array<uint8_t, kBlock>;

// Four-bit codes: value i in the low half of byte i, value i + 16 in its high half.
Codes UnpackNibbles(const std::byte* from) {
  Codes codes;
  for (int i = 0; i < kBlock / 2; ++i) {
    codes[i] = static_cast<uint8_t>(from[i]) & 15;
    codes[i + 16] = static_cast<uint8_t>(from[i]) >> 4;
  }
  return codes;
}

void PackNibbles(const Codes& codes, std::byte* to) {
  for (int i = 0; i < kBlock / 2; ++i) {
    to[i] = static_cast<std::byte>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  }
}

// Five-bit codes: a word of the fifth bits, then the nibbles.
Codes UnpackFiveBits(const std::byte* from) {
  uint32_t high;
  std::memcpy(&high, from, sizeof(high));
  Codes codes = UnpackNibbles(from + sizeof(high));
  for (int i = 0; i < kBlock; ++i) codes[i] |= (high >> i & 1) << 4;
  return codes;
}

void PackFiveBits(const Codes& codes, std::byte* to) {
  uint32_t high = 0;
  for (int i = 0; i < kBlock; ++i) high |= static_cast<uint32_t>(codes[i] >> 4) << i;
  std::memcpy(to, &high, sizeof(high));
  PackNibbles(codes, to + sizeof(high));
}

// value = scale * (code - bias)
void DecodeSymmetric(float scale, const Codes& codes, int bias, float* out) {
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(codes[i] - bias);
}

// value = scale * code + minimum
void DecodeAffine(float scale, float minimum, const Codes& codes, float* out) {
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(codes[i]) + minimum;
}

float InverseOrZero(float scale) { return scale == 0.0f ? 0.0f : 1.0f / scale; }

// The value of largest magnitude gets code 0: codes minus `bias` reach from -bias to bias - 1, one
// step further on that side.
float EncodeSymmetric(const float* values, int bias, Codes& codes) {
  float peak = 0.0f;
  for (int i = 0; i < kBlock; ++i) {
    if (std::fabs(values[i]) > std::fabs(peak)) peak = values[i];
  }
  const float scale = peak / static_cast<float>(-bias);
  const float inverse = InverseOrZero(scale);
  const float top = static_cast<float>(2 * bias - 1);
  for (int i = 0; i < kBlock; ++i) {
    const float code = values[i] * inverse + (static_cast<float>(bias) + 0.5f);
    codes[i] = static_cast<uint8_t>(TruncateToInt(code, 0.0f, top));
  }
  return scale;
}

struct Affine {
  float scale, minimum;
};

Affine EncodeAffine(const float* values, int top, Codes& codes) {
  float low = values[0], high = values[0];
  for (int i = 1; i < kBlock; ++i) {
    low = values[i] < low ? values[i] : low;
    high = values[i] > high ? values[i] : high;
  }
  const float scale = (high - low) / static_cast<float>(top);
  const float inverse = InverseOrZero(scale);
  for (int i = 0; i < kBlock; ++i) {
    const float code = (values[i] - low) * inverse + 0.5f;
    codes[i] = static_cast<uint8_t>(TruncateToInt(code, 0.0f, static_cast<float>(top)));
  }
  return {scale, low};
}

float LoadHalf(const std::byte* from) { return HalfToFloat(LoadU16(from)); }

void StoreHalf(std::byte* to, float value) { StoreU16(to, FloatToHalf(value)); }

}  // namespace

int TruncateToInt(float value, float low, float high) {
  if (!(value > low)) return static_cast<int>(low);
  return static_cast<int>(value < high ? value : high);
}

int RoundToInt(float value, float low, float high) {
  return TruncateToInt(std::round(value), low, high);
}

void DecodeQ8_0(const std::byte* block, float* out) {
  const float scale = LoadHalf(block);
  for (int i = 0; i < kBlock; ++i) {
    out[i] = scale * static_cast<float>(static_cast<int8_t>(block[2 + i]));
  }
}

void DecodeQ4_0(const std::byte* block, float* out) {
  DecodeSymmetric(LoadHalf(block), UnpackNibbles(block + 2), 8, out);
}

void DecodeQ4_1(const std::byte* block, float* out) {
  DecodeAffine(LoadHalf(block), LoadHalf(block + 2), UnpackNibbles(block + 4), out);
}

void DecodeQ5_0(const std::byte* block, float* out) {
  DecodeSymmetric(LoadHalf(block), UnpackFiveBits(block + 2), 16, out);
}

void DecodeQ5_1(const std::byte* block, float* out) {
  DecodeAffine(LoadHalf(block), LoadHalf(block + 2), UnpackFiveBits(block + 4), out);
}

void EncodeQ8_0(std::byte* block, const float* values) {
  float peak = 0.0f;
  for (int i = 0; i < kBlock; ++i) peak = std::fmax(peak, std::fabs(values[i]));
  const float scale = peak / 127.0f;
  const float inverse = InverseOrZero(scale);
  StoreHalf(block, scale);
  for (int i = 0; i < kBlock; ++i) {
    block[2 + i] = static_cast<std::byte>(RoundToInt(values[i] * inverse, -128.0f, 127.0f));
  }
}

void EncodeQ4_0(std::byte* block, const float* values) {
  Codes codes;
  StoreHalf(block, EncodeSymmetric(values, 8, codes));
  PackNibbles(codes, block + 2);
}

void EncodeQ4_1(std::byte* block, const float* values) {
  Codes codes;
  const Affine affine = EncodeAffine(values, 15, codes);
  StoreHalf(block, affine.scale);
  StoreHalf(block + 2, affine.minimum);
  PackNibbles(codes, block + 4);
}

void EncodeQ5_0(std::byte* block, const float* values) {
  Codes codes;
  StoreHalf(block, EncodeSymmetric(values, 16, codes));
  PackFiveBits(codes, block + 2);
}

void EncodeQ5_1(std::byte* block, const float* values) {
  Codes codes;
  const Affine affine = EncodeAffine(values, 31, codes);
  StoreHalf(block, affine.scale);
  StoreHalf(block + 2, affine.minimum);
  PackFiveBits(codes, block + 4);
}

}  // namespace foretoken
