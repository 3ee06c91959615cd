// Tests that the product of a row and a quantised weight has the same bits in every instruction
// set, on the vector unit and on the matrix unit, and together with any number of other rows.
// Products with unquantised weights have the same bits in most sets.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/cpu/isa/kernel_config.h"
#include "backend/cpu/isa/kernel_sets_testing.h"
#include "backend/cpu/reference.h"

namespace foretoken {
namespace {

using testing::FileWeight;
using testing::Filled;
using testing::KernelSet;
using testing::RandomFloats;
using testing::SameBits;

constexpr int64_t kRows = 70;
// Eleven panels, the last one partial. Two threads take them in pieces of one, two and four panels,
// or of three and four where panels are interleaved.
constexpr int64_t kOutputs = 166;

// Random rows with values that are hard to round: outliers in some columns; with 160 columns or
// more, also a block of zeros and a block of tiny values in some rows.
std::vector<float> RowsWithOutliers(int64_t cols) {
  std::vector<float> x = RandomFloats(static_cast<size_t>(kRows * cols), 31);
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t row = i / static_cast<size_t>(cols), col = i % static_cast<size_t>(cols);
    if (col % 97 == 5) x[i] *= 1000;
    if (col == 200) x[i] = 3e4f;
    if (row % 5 == 1 && col / 32 == 3) x[i] = 0;
    if (row % 7 == 2 && col / 32 == 4) x[i] *= 1e-30f;
  }
  return x;
}

// A set of kernels in one configuration, whose `unit` says where products run.
struct ConfiguredSet {
  KernelSet set;
  KernelConfig config;

  std::string Name() const { return std::string(set.name()) + ", " + Describe(config); }
};

std::vector<ConfiguredSet> AllConfiguredSets() {
  std::vector<ConfiguredSet> configured_sets;
  for (const KernelSet& set : testing::TestedSets()) {
    for (KernelConfig config : {set.kernels->on_amd, set.kernels->elsewhere}) {
      for (const ProductUnit unit :
           {ProductUnit::kFastest, ProductUnit::kVector, ProductUnit::kMatrix}) {
        config.unit = unit;
        if (CheckConfig(*set.kernels, config).ok()) configured_sets.push_back({set, config});
      }
    }
  }
  return configured_sets;
}

// The products of rows [first, first + rows) of `x` with `w`.
std::vector<float> Multiply(Backend& backend, const Weight& w, const std::vector<float>& x,
                            int64_t first, int64_t rows) {
  const auto begin = x.begin() + first * w.cols();
  const Buffer in = Filled(backend, rows, w.cols(), {begin, begin + rows * w.cols()});
  const Buffer out = *backend.Allocate(DType::kF32, rows, w.rows());
  const LinearOut group[] = {{.weight = &w, .out = out.tensor}};
  backend.Linear(in.tensor, group);
  return testing::Values(backend, out.tensor);
}

// Expects each of `configured_sets` to give the same bits, for every number of rows up to kRows.
void ExpectSameBits(DType type, int64_t cols, const std::vector<ConfiguredSet>& configured_sets) {
  const FileWeight w = testing::RandomWeight(type, kOutputs, cols, 32);
  const std::vector<float> x = RowsWithOutliers(cols);
  std::vector<float> want;
  for (const ConfiguredSet& configured : configured_sets) {
    const auto backend = testing::NewBackend(configured.set, configured.config, /*threads=*/2);
    const auto weight = testing::Load(*backend, w);
    if (want.empty()) want = Multiply(*backend, *weight, x, 0, kRows);
    for (int64_t rows = 1; rows <= kRows; ++rows) {
      const int64_t first = kRows - rows;
      const std::vector<float> y = Multiply(*backend, *weight, x, first, rows);
      ASSERT_TRUE(SameBits(y.data(), &want[static_cast<size_t>(first * kOutputs)], y.size()))
          << DTypeName(type) << ", " << rows << " rows, " << configured.Name();
    }
  }
}

class SameBitsTest : public ::testing::TestWithParam<DType> {};

TEST_P(SameBitsTest, EveryInstructionSetAndUnitWithOneTo70Rows) {
  const DType type = GetParam();
  const bool is_k_format = BlockElements(type) == 256;
  // Formats without super-blocks have 608 inputs here, so that the last group of blocks is partial.
  ExpectSameBits(type, is_k_format ? 512 : 608, AllConfiguredSets());
}

std::vector<DType> WeightTypes(bool quantised) {
  std::vector<DType> types;
  for (const DType type : testing::kWeightTypes) {
    if ((BlockElements(type) > 1) == quantised) types.push_back(type);
  }
  return types;
}

std::string TypeName(const ::testing::TestParamInfo<DType>& info) {
  return std::string(DTypeName(info.param));
}

INSTANTIATE_TEST_SUITE_P(Quantised, SameBitsTest,
                         ::testing::ValuesIn(WeightTypes(/*quantised=*/true)), TypeName);

class UnquantisedSameBitsTest : public ::testing::TestWithParam<DType> {};

// Sums of floats agree where multiplications and additions are fused, which excludes the portable
// set. BF16 weights are excluded in sets that multiply them with BF16 instructions, which round
// differently.
TEST_P(UnquantisedSameBitsTest, EveryInstructionSetWithFma) {
  const DType type = GetParam();
  std::vector<ConfiguredSet> configured_sets;
  for (const ConfiguredSet& configured : AllConfiguredSets()) {
    if (configured.set.isa == CpuIsa::kPortable) continue;
    if (type == DType::kBF16 && configured.set.kernels->bf16_tile != TileKind::kF32) continue;
    configured_sets.push_back(configured);
  }
  if (configured_sets.empty()) GTEST_SKIP() << "this machine lacks AVX2";
  ExpectSameBits(type, 95, configured_sets);
}

INSTANTIATE_TEST_SUITE_P(Unquantised, UnquantisedSameBitsTest,
                         ::testing::ValuesIn(WeightTypes(/*quantised=*/false)), TypeName);

}  // namespace
}  // namespace foretoken
