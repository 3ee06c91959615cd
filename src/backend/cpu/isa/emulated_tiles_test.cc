// Products of bf16 pairs on the emulated matrix unit have the bits of the manual's loop, which this
// test computes element by element.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/cpu/isa/isa.h"
#include "io/dtype.h"

namespace foretoken {

// emulated_amx.cc: sums [16][16] += rows [16][16][2] times pairs [16][16][2], bf16 values.
void EmulatedPairProduct(const uint16_t* rows, const uint16_t* pairs, float* sums);

namespace {

float Flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float At(const std::array<uint16_t, 512>& tile, int row, int word, int i) {
  return Flushed(Bf16ToFloat(tile[static_cast<size_t>((row * 16 + word) * 2 + i)]));
}

TEST(EmulatedTiles, PairsAreSummedAsTheManualSays) {
  if (!KernelsFor(CpuIsa::kAvx512).ok()) GTEST_SKIP() << "the emulation needs AVX-512";
  std::mt19937 rng(1);
  // Ranges of exponents: values of similar size, whose sums are rounded; values some of whose
  // products are denormals; values most of which are denormals; and values of very different sizes.
  for (const auto& [least, most] : {std::pair{-4, 4}, {-80, -50}, {-149, -120}, {-20, 20}}) {
    std::uniform_int_distribution<int> exponent(least, most);
    std::uniform_real_distribution<float> fraction(-2.0f, 2.0f);
    const auto random_value = [&] { return std::ldexp(fraction(rng), exponent(rng)); };
    std::array<uint16_t, 512> rows, pairs;
    std::array<float, 256> sums;
    for (uint16_t& x : rows) x = FloatToBf16(random_value());
    for (uint16_t& x : pairs) x = FloatToBf16(random_value());
    for (float& x : sums) x = random_value();
    std::array<float, 256> got = sums;
    EmulatedPairProduct(rows.data(), pairs.data(), got.data());
    for (int m = 0; m < 16; ++m) {
      for (int n = 0; n < 16; ++n) {
        std::array<float, 2> parts = {0, 0};
        for (int k = 0; k < 16; ++k) {
          for (int i = 0; i < 2; ++i) {
            parts[i] = Flushed(std::fma(At(rows, m, k, i), At(pairs, k, n, i), parts[i]));
          }
        }
        const auto at = static_cast<size_t>(m * 16 + n);
        const float want = Flushed(Flushed(sums[at]) + Flushed(parts[0] + parts[1]));
        ASSERT_EQ(std::memcmp(&got[at], &want, sizeof(want)), 0)
            << "2^" << least << " to 2^" << most << ": " << got[at] << " for " << want;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
