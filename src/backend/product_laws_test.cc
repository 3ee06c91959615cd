// The laws of products on every backend: values are close to a double-precision reference, and bits
// do not depend on other rows or products. The CPU's kernels are tested more closely beside their
// code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/reference.h"
#include "backend/tested_backends_testing.h"

namespace foretoken {
namespace {

using testing::FileWeight;
using testing::Filled;
using testing::Load;
using testing::RandomFloats;
using testing::RandomWeight;
using testing::SameBits;
using testing::Values;

constexpr int64_t kInputs = 256, kOutputs = 37, kRows = 20;
constexpr float kEpsilon = 1e-5f;

class ProductLaws : public ::testing::TestWithParam<testing::TestedBackend> {
 protected:
  ProductLaws() : backend_(GetParam().New(2)) {}

  std::vector<float> Multiply(const Weight& weight, const LinearIn& in) {
    const Buffer out = *backend_->Allocate(DType::kF32, in.x.rows, weight.rows());
    const LinearOut group[] = {{.weight = &weight, .out = out.tensor}};
    backend_->Linear(in, group);
    return Values(*backend_, out.tensor);
  }
  Buffer Inputs(int64_t rows = kRows, int64_t cols = kInputs, uint32_t seed = 2) {
    return Filled(*backend_, rows, cols, RandomFloats(static_cast<size_t>(rows * cols), seed));
  }

  std::unique_ptr<Backend> backend_;
};

// The tolerance allows for activations rounded to 8 bits.
TEST_P(ProductLaws, AreCloseToADoublePrecisionReference) {
  for (const DType type : testing::kWeightTypes) {
    const FileWeight w = RandomWeight(type, kOutputs, kInputs, 1);
    const auto weight = Load(*backend_, w);
    const Buffer in = Inputs();
    const auto x = Values(*backend_, in.tensor), y = Multiply(*weight, in.tensor);
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t o = 0; o < kOutputs; ++o) {
        double want = 0, magnitude = 0;
        for (int64_t i = 0; i < kInputs; ++i) {
          const double product = double{w.values[o * kInputs + i]} * x[r * kInputs + i];
          want += product;
          magnitude += std::fabs(product);
        }
        ASSERT_NEAR(y[r * kOutputs + o], want, 0.01 * magnitude) << DTypeName(type);
      }
    }
  }
}

// A row's product has the same bits, whatever rows are in the call.
TEST_P(ProductLaws, RowsDoNotDependOnEachOther) {
  for (const DType type : testing::kWeightTypes) {
    const auto weight = Load(*backend_, RandomWeight(type, kOutputs, kInputs, 1));
    const Buffer in = Inputs();
    const auto all = Multiply(*weight, in.tensor);
    for (int64_t first = 0, count = 1; first + count <= kRows; first += count, count += 2) {
      const auto part = Multiply(*weight, in.tensor.Rows(first, count));
      ASSERT_TRUE(SameBits(part.data(), &all[first * kOutputs], part.size()))
          << DTypeName(type) << ", " << count << " rows from " << first;
    }
  }
}

// A group of products has the bits of separate products.
TEST_P(ProductLaws, AGroupHasTheBitsOfSeparateProducts) {
  const auto a = Load(*backend_, RandomWeight(DType::kQ8_0, kOutputs, kInputs, 1));
  const auto b = Load(*backend_, RandomWeight(DType::kBF16, 64, kInputs, 2));
  const Buffer in = Inputs(), bias = Inputs(1, kOutputs, 3);
  const Buffer first = Inputs(kRows, kOutputs, 4),
               second = *backend_->Allocate(DType::kF32, kRows, 64);
  const auto before = Values(*backend_, first.tensor), added = Values(*backend_, bias.tensor);
  const LinearOut group[] = {
      {.weight = a.get(), .out = first.tensor, .bias = bias.tensor, .accumulate = true},
      {.weight = b.get(), .out = second.tensor}};
  backend_->Linear(in.tensor, group);
  auto want = Multiply(*a, in.tensor);
  for (size_t i = 0; i < want.size(); ++i) want[i] = (before[i] + want[i]) + added[i % kOutputs];
  EXPECT_EQ(Values(*backend_, first.tensor), want);
  EXPECT_EQ(Values(*backend_, second.tensor), Multiply(*b, in.tensor));
}

// A product of a normed input has the bits of the product of RmsNorm's output.
TEST_P(ProductLaws, ANormedInputHasTheBitsOfRmsNorm) {
  const auto weight = Load(*backend_, RandomWeight(DType::kQ8_0, kOutputs, kInputs, 1));
  const Buffer in = Inputs(), gain = Inputs(1, kInputs, 3);
  const Buffer normed = *backend_->Allocate(DType::kF32, kRows, kInputs);
  backend_->RmsNorm(in.tensor, gain.tensor, kEpsilon, normed.tensor);
  EXPECT_EQ(Multiply(*weight, {in.tensor, gain.tensor, kEpsilon}),
            Multiply(*weight, normed.tensor));
}

// A feed-forward block has the bits of separate products and SiluMul.
TEST_P(ProductLaws, AFeedForwardBlockHasTheBitsOfSeparateOps) {
  constexpr int64_t kWidth = 96;
  const auto gate = Load(*backend_, RandomWeight(DType::kQ8_0, kWidth, kInputs, 1));
  const auto up = Load(*backend_, RandomWeight(DType::kBF16, kWidth, kInputs, 2));
  const auto down = Load(*backend_, RandomWeight(DType::kQ8_0, kInputs, kWidth, 3));
  const Buffer x = Inputs(), gain = Inputs(1, kInputs, 4), fused = Inputs();
  const LinearIn in(x.tensor, gain.tensor, kEpsilon);
  const Buffer g = *backend_->Allocate(DType::kF32, kRows, kWidth),
               u = *backend_->Allocate(DType::kF32, kRows, kWidth);
  const LinearOut inner[] = {{.weight = gate.get(), .out = g.tensor},
                             {.weight = up.get(), .out = u.tensor}};
  backend_->Linear(in, inner);
  backend_->SiluMul(g.tensor, u.tensor);
  const LinearOut outer[] = {{.weight = down.get(), .out = x.tensor, .accumulate = true}};
  backend_->Linear(g.tensor, outer);
  backend_->FeedForward({.x = {fused.tensor, gain.tensor, kEpsilon},
                         .gate = gate.get(),
                         .up = up.get(),
                         .down = down.get(),
                         .out = fused.tensor});
  EXPECT_EQ(Values(*backend_, fused.tensor), Values(*backend_, x.tensor));
}

TEST_P(ProductLaws, EmbedReturnsTheDequantisedValuesOfTheFile) {
  for (const DType type : testing::kWeightTypes) {
    const FileWeight w = RandomWeight(type, 5, kInputs, 1);
    const auto table = Load(*backend_, w);
    const Buffer out = *backend_->Allocate(DType::kF32, 3, kInputs);
    backend_->Embed(*table, std::array<Token, 3>{4, 0, 4}, out.tensor);
    const auto rows = Values(*backend_, out.tensor);
    for (size_t i = 0; i < 3; ++i) {
      const float* want = &w.values[(i == 1 ? 0 : 4) * kInputs];
      ASSERT_TRUE(SameBits(&rows[i * kInputs], want, kInputs)) << DTypeName(type);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ProductLaws, ::testing::ValuesIn(testing::TestedBackends()),
                         [](const auto& info) { return info.param.ParameterName(); });

}  // namespace
}  // namespace foretoken
