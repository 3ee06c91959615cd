#include "io/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "io/finite_values.h"

namespace foretoken {
namespace {

constexpr DType kAll[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ8_0,
                          DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                          DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

std::vector<float> Normal(size_t count, float deviation) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<float> RoundTrip(DType type, const std::vector<float>& values) {
  std::vector<std::byte> bytes(RowBytes(type, static_cast<int64_t>(values.size())));
  Quantize(type, values, bytes.data());
  std::vector<float> back(values.size());
  Dequantize(type, bytes.data(), back);
  return back;
}

double RelativeError(DType type, const std::vector<float>& values) {
  const std::vector<float> back = RoundTrip(type, values);
  double error = 0, square = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error += (back[i] - values[i]) * (back[i] - values[i]);
    square += values[i] * values[i];
  }
  return std::sqrt(error / square);
}

TEST(DType, EveryTypeHasItsNameAndSizes) {
  for (const DType type : kAll) {
    EXPECT_TRUE(IsKnownDType(static_cast<uint32_t>(type)));
    EXPECT_EQ(*ParseDType(DTypeName(type)), type);
  }
  EXPECT_EQ(*ParseDType("q4_k"), DType::kQ4_K);
  EXPECT_FALSE(ParseDType("Q3_K").ok());
  EXPECT_FALSE(IsKnownDType(9));
  EXPECT_EQ(DTypeName(static_cast<DType>(9)), "?");
  EXPECT_EQ(RowBytes(DType::kQ6_K, 512), 420u);
  EXPECT_EQ(RowBytes(DType::kQ8_0, 64), 68u);
  EXPECT_EQ(BlockElements(DType::kBF16), 1);
}

TEST(DType, HalvesSurviveTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      ASSERT_EQ(FloatToHalf(value), bits);
    }
  }
}

TEST(DType, HalvesRoundToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0f + 0x1.0p-11f), 0x3c00);      // a tie, down to even
  EXPECT_EQ(FloatToHalf(1.0f + 3 * 0x1.0p-11f), 0x3c02);  // a tie, up to even
  EXPECT_EQ(FloatToHalf(1.0f + 0x1.1p-11f), 0x3c01);      // above a tie
  EXPECT_EQ(FloatToHalf(0x1.0p-25f), 0);                  // half the smallest subnormal
  EXPECT_EQ(FloatToHalf(0x1.8p-25f), 1);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::infinity()), 0xfc00);
}

TEST(DType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(FloatToBf16(1.0f + 0x1.0p-8f), 0x3f80);
  EXPECT_EQ(FloatToBf16(1.0f + 3 * 0x1.0p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(Bf16ToFloat(FloatToBf16(std::nanf("")))));
  EXPECT_TRUE(std::isinf(Bf16ToFloat(FloatToBf16(std::numeric_limits<float>::max()))));
}

TEST(DType, QuantisationErrorIsWhatTheBitsAllow) {
  const std::vector<float> values = Normal(256 * 64, 0.03f);
  EXPECT_EQ(RelativeError(DType::kF32, values), 0.0);
  const std::pair<DType, double> bounds[] = {
      {DType::kF16, 3e-4},   {DType::kBF16, 2.5e-3}, {DType::kQ8_0, 7e-3},  {DType::kQ6_K, 0.019},
      {DType::kQ5_K, 0.037}, {DType::kQ5_1, 0.045},  {DType::kQ5_0, 0.046}, {DType::kQ4_K, 0.075},
      {DType::kQ4_1, 0.092}, {DType::kQ4_0, 0.095}};
  for (const auto& [type, bound] : bounds) {
    const double error = RelativeError(type, values);
    EXPECT_LT(error, bound) << DTypeName(type);
    EXPECT_GT(error, bound / 2) << DTypeName(type) << ": the bound is loose";
  }
}

TEST(DType, ConstantsAndZerosComeBack) {
  for (const DType type : kAll) {
    for (const float constant : {0.0f, 0.5f, -0.5f}) {
      for (const float value : RoundTrip(type, std::vector<float>(256, constant))) {
        ASSERT_NEAR(value, constant, 0.002f) << DTypeName(type);
      }
    }
  }
}

TEST(DType, ExtremeValuesDoNotCrash) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  for (const DType type : kAll) {
    for (const float extreme : {infinity, -infinity, std::nanf(""), most, -most, 1e-45f}) {
      std::vector<float> values = Normal(256, 1.0f);
      values[100] = extreme;
      RoundTrip(type, values);
      RoundTrip(type, std::vector<float>(256, extreme));
    }
  }
}

// Detects NaN or infinity in the last value, and in each half-precision scale of a block.
TEST(AllFinite, FindsNanAndInfinityInValuesAndScales) {
  const std::vector<float> values(512, 0.5f);
  const std::pair<DType, std::vector<size_t>> kinds[] = {
      {DType::kQ8_0, {0}},    {DType::kQ4_0, {0}},    {DType::kQ4_1, {0, 2}},
      {DType::kQ5_0, {0}},    {DType::kQ5_1, {0, 2}}, {DType::kQ4_K, {0, 2}},
      {DType::kQ5_K, {0, 2}}, {DType::kQ6_K, {208}},  {DType::kF16, {0}}};
  for (const auto& [type, scales] : kinds) {
    std::vector<std::byte> bytes(RowBytes(type, 512));
    Quantize(type, values, bytes.data());
    EXPECT_TRUE(AllFinite(type, bytes)) << DTypeName(type);
    for (const size_t scale : scales) {
      for (const uint16_t wrong : {0x7C00, 0xFC00, 0x7E00, 0xFFFF}) {
        std::vector<std::byte> damaged = bytes;
        const size_t last = damaged.size() - BlockBytes(type);
        std::memcpy(damaged.data() + last + scale, &wrong, sizeof wrong);
        EXPECT_FALSE(AllFinite(type, damaged)) << DTypeName(type) << " " << scale;
      }
    }
  }
  for (const DType type : {DType::kF32, DType::kBF16}) {
    std::vector<float> wrong = values;
    wrong.back() = -INFINITY;
    std::vector<std::byte> bytes(RowBytes(type, 512));
    Quantize(type, wrong, bytes.data());
    EXPECT_FALSE(AllFinite(type, bytes));
    wrong.back() = 3e38f;
    Quantize(type, wrong, bytes.data());
    EXPECT_TRUE(AllFinite(type, bytes));
  }
}

}  // namespace
}  // namespace foretoken
