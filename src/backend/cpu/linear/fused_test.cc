// Fused ops have the bits of the ops that they replace, whatever the types, shapes, rows and
// threads.
#include <gtest/gtest.h>

#include <array>
#include <iterator>

#include "backend/cpu/isa/kernel_config.h"
#include "backend/cpu/isa/kernel_sets_testing.h"
#include "backend/cpu/reference.h"

namespace foretoken {
namespace {

using testing::FileWeight;
using testing::Filled;
using testing::KernelSet;
using testing::Load;
using testing::NewBackend;
using testing::RandomFloats;
using testing::RandomWeight;
using testing::SameBits;
using testing::Values;

constexpr float kEps = 1e-5f;

// A feed-forward block and its input rows, to which its output is added.
struct Block {
  Block(DType gate_type, DType up_type, DType down_type, int64_t hidden, int64_t width,
        int64_t most_rows)
      : gate(RandomWeight(gate_type, width, hidden, 1)),
        up(RandomWeight(up_type, width, hidden, 2)),
        down(RandomWeight(down_type, hidden, width, 3)),
        gain(RandomFloats(static_cast<size_t>(hidden), 4)),
        x(RandomFloats(static_cast<size_t>(most_rows * hidden), 5)) {}

  int64_t hidden() const { return down.rows; }
  std::vector<float> Rows(int64_t rows) const { return {x.begin(), x.begin() + rows * hidden()}; }

  FileWeight gate, up, down;
  std::vector<float> gain, x;
};

// Computes the block op by op, one row at a time.
std::vector<float> ComputeSeparately(Backend& backend, const Block& b, int64_t rows) {
  const auto gate = Load(backend, b.gate), up = Load(backend, b.up), down = Load(backend, b.down);
  const Buffer x = Filled(backend, rows, b.hidden(), b.Rows(rows));
  const Buffer gain = Filled(backend, 1, b.hidden(), b.gain);
  const Buffer normed = *backend.Allocate(DType::kF32, 1, b.hidden());
  const Buffer gate_out = *backend.Allocate(DType::kF32, 1, b.gate.rows);
  const Buffer up_out = *backend.Allocate(DType::kF32, 1, b.gate.rows);
  for (int64_t r = 0; r < rows; ++r) {
    const Tensor row = x.tensor.Rows(r, 1);
    backend.RmsNorm(row, gain.tensor, kEps, normed.tensor);
    const LinearOut gate_and_up[] = {{.weight = gate.get(), .out = gate_out.tensor},
                                     {.weight = up.get(), .out = up_out.tensor}};
    backend.Linear(normed.tensor, gate_and_up);
    backend.SiluMul(gate_out.tensor, up_out.tensor);
    const LinearOut out[] = {{.weight = down.get(), .out = row, .accumulate = true}};
    backend.Linear(gate_out.tensor, out);
  }
  return Values(backend, x.tensor);
}

std::vector<float> ComputeFused(Backend& backend, const Block& b, int64_t rows) {
  const auto gate = Load(backend, b.gate), up = Load(backend, b.up), down = Load(backend, b.down);
  const Buffer x = Filled(backend, rows, b.hidden(), b.Rows(rows));
  const Buffer gain = Filled(backend, 1, b.hidden(), b.gain);
  backend.FeedForward({.x = {x.tensor, gain.tensor, kEps},
                       .gate = gate.get(),
                       .up = up.get(),
                       .down = down.get(),
                       .out = x.tensor});
  return Values(backend, x.tensor);
}

void ExpectFusedBits(const KernelSet& set, const Block& b,
                     std::initializer_list<int64_t> row_counts) {
  const int64_t max_rows = *std::prev(row_counts.end());
  const std::vector<float> want = ComputeSeparately(*NewBackend(set, 1), b, max_rows);
  for (int threads : {1, 2, 3}) {
    const auto backend = NewBackend(set, threads);
    for (const int64_t rows : row_counts) {
      const std::vector<float> got = ComputeFused(*backend, b, rows);
      ASSERT_TRUE(SameBits(got.data(), want.data(), got.size()))
          << rows << " rows on " << threads << " threads";
    }
  }
}

class FusedTest : public ::testing::TestWithParam<KernelSet> {};

// Formats without super-blocks have 18 panels of inner columns here, so that the last strip is
// partial.
TEST_P(FusedTest, FeedForwardHasTheBitsOfSeparateOps) {
  for (DType type : testing::kWeightTypes) {
    SCOPED_TRACE(DTypeName(type));
    const int64_t width = BlockElements(type) == 256 ? 512 : 288;
    ExpectFusedBits(GetParam(), Block(type, type, type, 256, width, 70), {1, 3, 8, 17, 70});
  }
}

TEST_P(FusedTest, WeightsMayDifferInType) {
  const DType mixes[][3] = {{DType::kQ4_K, DType::kQ4_K, DType::kQ6_K},
                            {DType::kQ8_0, DType::kBF16, DType::kF16},
                            {DType::kF32, DType::kQ4_0, DType::kBF16}};
  for (const auto& [gate, up, down] : mixes) {
    SCOPED_TRACE(std::string(DTypeName(gate)) + " " + std::string(DTypeName(down)));
    ExpectFusedBits(GetParam(), Block(gate, up, down, 256, 512, 9), {1, 5, 9});
  }
}

// Covers a partly filled last panel, a last column without a pair, and a single panel.
TEST_P(FusedTest, PanelsMayBePartlyFilled) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const auto& [hidden, width] : {std::pair<int64_t, int64_t>{7, 95}, {33, 5}, {40, 129}}) {
      SCOPED_TRACE(std::string(DTypeName(type)) + " " + std::to_string(width));
      ExpectFusedBits(GetParam(), Block(type, type, type, hidden, width, 6), {1, 2, 6});
    }
  }
}

// Tiles of 32 and 33 rows, and panels of a single block.
TEST_P(FusedTest, TilesMayDifferInSize) {
  ExpectFusedBits(GetParam(), Block(DType::kQ4_0, DType::kQ4_0, DType::kQ8_0, 32, 1024, 65), {65});
}

// More tiles than stay in a core's private cache.
TEST_P(FusedTest, TilesMayExceedTheCache) {
  ExpectFusedBits(GetParam(), Block(DType::kF16, DType::kF16, DType::kQ8_0, 512, 160, 300), {300});
}

// Neither the division of products nor the order in which panels are read changes a bit.
TEST_P(FusedTest, ConfigurationsHaveTheSameBits) {
  for (DType type : {DType::kQ4_0, DType::kBF16}) {
    const Block block(type, type, type, 64, 160, 70);
    const std::vector<float> want = ComputeSeparately(*NewBackend(GetParam(), 1), block, 70);
    int threads = 0;
    for (const KernelConfig& config : AdmittedConfigs(*GetParam().kernels)) {
      threads = threads % 3 + 1;
      const auto backend = NewBackend(GetParam(), config, threads);
      for (const int64_t rows : {3, 29, 61, 70}) {
        const std::vector<float> got = ComputeFused(*backend, block, rows);
        ASSERT_TRUE(SameBits(got.data(), want.data(), got.size()))
            << DTypeName(type) << ", " << rows << " rows, " << Describe(config);
      }
    }
  }
}

// A product whose input is a norm has the bits of the norm followed by the product.
TEST_P(FusedTest, NormedProductHasTheBitsOfSeparateOps) {
  for (DType type : {DType::kQ8_0, DType::kBF16, DType::kF32}) {
    const FileWeight w = RandomWeight(type, 37, 608, 1);
    const std::vector<float> x = RandomFloats(70 * 608, 2), gain = RandomFloats(608, 3);
    for (int threads : {1, 3}) {
      const auto backend = NewBackend(GetParam(), threads);
      const auto weight = Load(*backend, w);
      const Buffer in = Filled(*backend, 70, 608, x), g = Filled(*backend, 1, 608, gain);
      const Buffer normed = *backend->Allocate(DType::kF32, 70, 608);
      const Buffer want = *backend->Allocate(DType::kF32, 70, 37);
      const Buffer got = *backend->Allocate(DType::kF32, 70, 37);
      backend->RmsNorm(in.tensor, g.tensor, kEps, normed.tensor);
      backend->Linear(normed.tensor,
                      std::array{LinearOut{.weight = weight.get(), .out = want.tensor}});
      for (int64_t rows : {1, 8, 70}) {
        const LinearOut out[] = {{.weight = weight.get(), .out = got.tensor.Rows(0, rows)}};
        backend->Linear({in.tensor.Rows(0, rows), g.tensor, kEps}, out);
        EXPECT_EQ(Values(*backend, got.tensor.Rows(0, rows)),
                  Values(*backend, want.tensor.Rows(0, rows)))
            << DTypeName(type) << ", " << rows << " rows";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, FusedTest, ::testing::ValuesIn(testing::TestedSets()),
                         [](const auto& info) { return std::string(info.param.name()); });

}  // namespace
}  // namespace foretoken
