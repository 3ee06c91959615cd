#include "io/k_formats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "io/block_formats.h"
#include "io/dtype.h"

namespace foretoken {
namespace {

constexpr int kSuper = 256;
using SuperBlockCodes = std::array<uint8_t, kSuper>;

uint8_t ByteAt(const std::byte* from, int i) { return static_cast<uint8_t>(from[i]); }

// Scales and minima of Q4_K and Q5_K: eight of each, six bits wide, in twelve bytes. The first four
// of each lie in the low six bits of bytes 0-3 and 4-7; of the last four, the low four bits lie in
// bytes 8-11 and the high two on top of bytes 0-3 and 4-7.
struct SubScales {
  std::array<uint8_t, 8> scale, minimum;
};

SubScales UnpackSubScales(const std::byte* from) {
  SubScales sub;
  for (int i = 0; i < 4; ++i) {
    sub.scale[i] = ByteAt(from, i) & 63;
    sub.minimum[i] = ByteAt(from, i + 4) & 63;
    sub.scale[i + 4] = (ByteAt(from, i + 8) & 15) | (ByteAt(from, i) >> 6) << 4;
    sub.minimum[i + 4] = (ByteAt(from, i + 8) >> 4) | (ByteAt(from, i + 4) >> 6) << 4;
  }
  return sub;
}

void PackSubScales(const SubScales& sub, std::byte* to) {
  for (int i = 0; i < 4; ++i) {
    to[i] = static_cast<std::byte>(sub.scale[i] | (sub.scale[i + 4] >> 4) << 6);
    to[i + 4] = static_cast<std::byte>(sub.minimum[i] | (sub.minimum[i + 4] >> 4) << 6);
    to[i + 8] = static_cast<std::byte>((sub.scale[i + 4] & 15) | (sub.minimum[i + 4] & 15) << 4);
  }
}

// Low four bits of Q4_K and Q5_K codes: sub-blocks 2j and 2j+1 share 32 bytes.
void UnpackPairs(const std::byte* from, SuperBlockCodes& codes) {
  for (int pair = 0; pair < 4; ++pair) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t both = ByteAt(from, pair * 32 + i);
      codes[pair * 64 + i] = both & 15;
      codes[pair * 64 + 32 + i] = both >> 4;
    }
  }
}

void PackPairs(const SuperBlockCodes& codes, std::byte* to) {
  for (int pair = 0; pair < 4; ++pair) {
    for (int i = 0; i < 32; ++i) {
      const int low = codes[pair * 64 + i] & 15, high = codes[pair * 64 + 32 + i] & 15;
      to[pair * 32 + i] = static_cast<std::byte>(low | high << 4);
    }
  }
}

void DecodeAffine(const std::byte* block, const SuperBlockCodes& codes, float* out) {
  const float scale = HalfToFloat(LoadU16(block)), minimum = HalfToFloat(LoadU16(block + 2));
  const SubScales sub = UnpackSubScales(block + 4);
  for (int i = 0; i < kSuper; ++i) {
    const float step = scale * static_cast<float>(sub.scale[i / 32]);
    const float shift = minimum * static_cast<float>(sub.minimum[i / 32]);
    out[i] = step * static_cast<float>(codes[i]) - shift;
  }
}

// A sub-block as scale * code - minimum, minimum >= 0.
struct Fit {
  float scale = 0.0f, minimum = 0.0f;
};

struct WeightedValues {
  const float* values;
  std::array<float, 32> weights;
};

// Weights for squared errors: large values matter more to a dot product, but small ones are not
// ignored.
WeightedValues Weigh(const float* values) {
  WeightedValues weighted{values, {}};
  float squares = 0.0f;
  for (int i = 0; i < 32; ++i) squares += values[i] * values[i];
  const float base = std::sqrt(squares / 32.0f);
  for (int i = 0; i < 32; ++i) weighted.weights[i] = base + std::fabs(values[i]);
  return weighted;
}

float SquaredError(const WeightedValues& x, const Fit& fit, const std::array<int, 32>& codes) {
  float error = 0.0f;
  for (int i = 0; i < 32; ++i) {
    const float miss = fit.scale * static_cast<float>(codes[i]) - fit.minimum - x.values[i];
    error += x.weights[i] * miss * miss;
  }
  return error;
}

// Least-squares scale and minimum for given codes; false where the codes do not determine them.
bool Refit(const WeightedValues& x, const std::array<int, 32>& codes, Fit& fit) {
  float w = 0, wl = 0, wll = 0, wx = 0, wlx = 0;
  for (int i = 0; i < 32; ++i) {
    const float weight = x.weights[i], code = static_cast<float>(codes[i]);
    w += weight;
    wl += weight * code;
    wll += weight * code * code;
    wx += weight * x.values[i];
    wlx += weight * code * x.values[i];
  }
  const float determinant = w * wll - wl * wl;
  if (!(determinant > 0.0f)) return false;
  fit.scale = (w * wlx - wl * wx) / determinant;
  fit.minimum = (wl * wlx - wll * wx) / determinant;
  if (fit.minimum < 0.0f) {  // the format has no negative minimum: fit through zero instead
    fit.minimum = 0.0f;
    fit.scale = wlx / wll;
  }
  return fit.scale > 0.0f;
}

// Tries step sizes around range / top, refits scale and minimum to the codes each one gives, and
// keeps the best.
Fit SearchAffine(const float* values, int top) {
  const WeightedValues x = Weigh(values);
  const float low = std::min(0.0f, *std::min_element(values, values + 32));
  const float high = *std::max_element(values, values + 32);
  if (!(high > low)) return {0.0f, -low};
  Fit best;
  float best_error = INFINITY;
  for (int step = -10; step <= 10; ++step) {
    const float inverse =
        (static_cast<float>(top) + 0.1f * static_cast<float>(step)) / (high - low);
    std::array<int, 32> codes;
    for (int i = 0; i < 32; ++i) {
      codes[i] = RoundToInt((values[i] - low) * inverse, 0.0f, static_cast<float>(top));
    }
    Fit fit{1.0f / inverse, -low};
    if (!Refit(x, codes, fit)) continue;
    const float error = SquaredError(x, fit, codes);
    if (error < best_error) {
      best_error = error;
      best = fit;
    }
  }
  return best_error < INFINITY ? best : Fit{(high - low) / static_cast<float>(top), -low};
}

float Inverse(float value) { return value > 0.0f ? 1.0f / value : 0.0f; }

// Writes scales and minima at the front of a Q4_K or Q5_K block. Returns the codes that fit them
// best as they are stored, that is, rounded.
SuperBlockCodes EncodeAffine(std::byte* block, const float* values, int top) {
  std::array<Fit, 8> fits;
  float scale_peak = 0.0f, minimum_peak = 0.0f;
  for (int s = 0; s < 8; ++s) {
    fits[s] = SearchAffine(values + 32 * s, top);
    scale_peak = std::max(scale_peak, fits[s].scale);
    minimum_peak = std::max(minimum_peak, fits[s].minimum);
  }
  SubScales sub;
  for (int s = 0; s < 8; ++s) {
    sub.scale[s] = RoundToInt(63.0f * Inverse(scale_peak) * fits[s].scale, 0.0f, 63.0f);
    sub.minimum[s] = RoundToInt(63.0f * Inverse(minimum_peak) * fits[s].minimum, 0.0f, 63.0f);
  }
  StoreU16(block, FloatToHalf(scale_peak / 63.0f));
  StoreU16(block + 2, FloatToHalf(minimum_peak / 63.0f));
  PackSubScales(sub, block + 4);
  const float scale = HalfToFloat(LoadU16(block)), minimum = HalfToFloat(LoadU16(block + 2));
  SuperBlockCodes codes;
  for (int i = 0; i < kSuper; ++i) {
    const float step = scale * static_cast<float>(sub.scale[i / 32]);
    const float shifted = values[i] + minimum * static_cast<float>(sub.minimum[i / 32]);
    codes[i] = RoundToInt(shifted * Inverse(step), 0.0f, static_cast<float>(top));
  }
  return codes;
}

// The scale that fits 16 values best as scale * code, with codes in [-32, 31]; may be negative.
// Errors are weighted by the squares of the values, so that the largest values fit best.
float SearchSymmetric(const float* values) {
  float peak = 0.0f;
  for (int i = 0; i < 16; ++i) {
    if (std::fabs(values[i]) > std::fabs(peak)) peak = values[i];
  }
  if (!(std::fabs(peak) > 1e-30f) || !std::isfinite(peak)) return 0.0f;
  float best_scale = 0.0f, best_gain = 0.0f;
  for (int step = -9; step <= 9; ++step) {
    const float inverse = -(32.0f + 0.1f * static_cast<float>(step)) / peak;
    float code_square = 0.0f, product = 0.0f;
    for (int i = 0; i < 16; ++i) {
      const float code = static_cast<float>(RoundToInt(inverse * values[i], -32.0f, 31.0f));
      const float weight = values[i] * values[i];
      code_square += weight * code * code;
      product += weight * code * values[i];
    }
    if (!(code_square > 0.0f)) continue;
    const float gain = product * product / code_square;  // error = constant - gain
    if (gain > best_gain) {
      best_gain = gain;
      best_scale = product / code_square;
    }
  }
  return best_scale;
}

// Calls visit(value, byte of the low bits, their shift, byte of the high bits, their shift) for
// every code of a Q6_K block, which consists of two halves of 128 values. Value 32k + i of a half
// has its low four bits in byte 32 (k % 2) + i of the half's 64 bytes of low bits, in the low
// nibble if k < 2. Its high two bits begin at bit 2k of byte i of the half's 32 bytes of high bits.
template <typename Visit>
void EachQ6Code(Visit visit) {
  for (int i = 0; i < kSuper; ++i) {
    const int half = i / 128, k = i % 128 / 32, lane = i % 32;
    visit(i, half * 64 + k % 2 * 32 + lane, k / 2 * 4, half * 32 + lane, k * 2);
  }
}

constexpr int kQ6High = 128, kQ6Scales = 192, kQ6Scale = 208;

}  // namespace

void DecodeQ4_K(const std::byte* block, float* out) {
  SuperBlockCodes codes;
  UnpackPairs(block + 16, codes);
  DecodeAffine(block, codes, out);
}

void DecodeQ5_K(const std::byte* block, float* out) {
  SuperBlockCodes codes;
  UnpackPairs(block + 48, codes);
  for (int i = 0; i < kSuper; ++i) {
    codes[i] |= (ByteAt(block + 16, i % 32) >> (i / 32) & 1) << 4;
  }
  DecodeAffine(block, codes, out);
}

void DecodeQ6_K(const std::byte* block, float* out) {
  const float scale = HalfToFloat(LoadU16(block + kQ6Scale));
  EachQ6Code([&](int i, int low_byte, int low_shift, int high_byte, int high_shift) {
    const int low = ByteAt(block, low_byte) >> low_shift & 15;
    const int high = ByteAt(block + kQ6High, high_byte) >> high_shift & 3;
    const auto sub = static_cast<int8_t>(block[kQ6Scales + i / 16]);
    out[i] = scale * static_cast<float>(sub) * static_cast<float>((low | high << 4) - 32);
  });
}

void EncodeQ4_K(std::byte* block, const float* values) {
  PackPairs(EncodeAffine(block, values, 15), block + 16);
}

void EncodeQ5_K(std::byte* block, const float* values) {
  const SuperBlockCodes codes = EncodeAffine(block, values, 31);
  std::fill(block + 16, block + 48, std::byte{0});
  for (int i = 0; i < kSuper; ++i) {
    block[16 + i % 32] |= static_cast<std::byte>((codes[i] >> 4) << (i / 32));
  }
  PackPairs(codes, block + 48);
}

void EncodeQ6_K(std::byte* block, const float* values) {
  std::array<float, 16> scales;
  float peak = 0.0f;
  for (int s = 0; s < 16; ++s) {
    scales[s] = SearchSymmetric(values + 16 * s);
    if (std::fabs(scales[s]) > std::fabs(peak)) peak = scales[s];
  }
  std::fill(block, block + kQ6Scale, std::byte{0});
  StoreU16(block + kQ6Scale, FloatToHalf(peak / -128.0f));
  const float scale = HalfToFloat(LoadU16(block + kQ6Scale));
  const float inverse = peak == 0.0f ? 0.0f : -128.0f / peak;
  for (int s = 0; s < 16; ++s) {
    block[kQ6Scales + s] = static_cast<std::byte>(RoundToInt(scales[s] * inverse, -128.f, 127.f));
  }
  EachQ6Code([&](int i, int low_byte, int low_shift, int high_byte, int high_shift) {
    const float step = scale * static_cast<float>(static_cast<int8_t>(block[kQ6Scales + i / 16]));
    const float code = step == 0.0f ? 0.0f : values[i] / step;
    const int biased = RoundToInt(code, -32.0f, 31.0f) + 32;
    block[low_byte] |= static_cast<std::byte>((biased & 15) << low_shift);
    block[kQ6High + high_byte] |= static_cast<std::byte>((biased >> 4) << high_shift);
  });
}

}  // namespace foretoken
