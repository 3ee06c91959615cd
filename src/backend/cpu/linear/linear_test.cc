// Tests that products are correct up to rounding, exact where that is promised, and independent of
// other rows and of the number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "backend/cpu/isa/kernel_config.h"
#include "backend/cpu/isa/kernel_sets_testing.h"
#include "backend/cpu/pack/panel_format.h"
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
using testing::TestedSets;
using testing::Values;

struct Case {
  KernelSet set;
  DType type;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const KernelSet& set : TestedSets()) {
    for (DType type : testing::kWeightTypes) cases.push_back({set, type});
  }
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.set.name()) + "_" + std::string(DTypeName(info.param.type));
}

std::vector<float> Multiply(Backend& backend, const Weight& w, const std::vector<float>& x) {
  const int64_t rows = static_cast<int64_t>(x.size()) / w.cols();
  const Buffer in = Filled(backend, rows, w.cols(), x);
  const Buffer out = *backend.Allocate(DType::kF32, rows, w.rows());
  const LinearOut group[] = {{.weight = &w, .out = out.tensor}};
  backend.Linear(in.tensor, group);
  return Values(backend, out.tensor);
}

class LinearTest : public ::testing::TestWithParam<Case> {
 protected:
  LinearTest() : backend_(NewBackend(GetParam().set, 2)) {}

  // 37 outputs: two whole panels and a partly filled one.
  FileWeight NewWeight(int64_t rows = 37, uint32_t seed = 1) {
    return RandomWeight(GetParam().type, rows, 512, seed);
  }

  std::unique_ptr<Backend> backend_;
};

// The unit that a block of activations with largest magnitude `peak` is rounded to: the smallest
// power of two, from 2^-80 on, with which `peak` has a code of at most 127.
double UnitOf(double peak) {
  double unit = 0x1p-80;
  while (127 * unit < peak) unit *= 2;
  return unit;
}

// Upper bound of the error of an output with weights w. Rounded activations add half a unit times
// |w| for each input (int8), or 2^-8 of each product (bf16). Single-precision sums add 4e-6 of the
// products' magnitudes.
double Tolerance(DType type, const float* w, const float* x, int64_t n) {
  double sum = 0, rounding = 0;
  for (int64_t b = 0; b < n; b += 32) {
    double peak = 0, weight = 0;
    for (int64_t i = b; i < std::min(n, b + 32); ++i) {
      peak = std::max<double>(peak, std::fabs(x[i]));
      weight += std::fabs(w[i]);
      sum += std::fabs(w[i] * x[i]);
      if (type == DType::kBF16) rounding += std::fabs(w[i] * x[i]) / 256;
    }
    if (BlockElements(type) > 1) rounding += UnitOf(peak) / 2 * weight;
  }
  // In formats with minima, d * code and the minimum nearly cancel, so rounding errors can be large
  // compared with the products. A constant covers them.
  return rounding + 4e-6 * sum + (BlockElements(type) > 1 ? 1e-4 : 0);
}

TEST_P(LinearTest, IsCloseToADoublePrecisionReference) {
  const FileWeight w = NewWeight();
  const auto weight = Load(*backend_, w);
  const std::vector<float> x = RandomFloats(5 * 512, 2);
  const std::vector<float> y = Multiply(*backend_, *weight, x);
  for (int64_t r = 0; r < 5; ++r) {
    for (int64_t o = 0; o < w.rows; ++o) {
      double want = 0;
      for (int64_t i = 0; i < w.cols; ++i) {
        want += static_cast<double>(w.values[o * w.cols + i]) * x[r * w.cols + i];
      }
      ASSERT_NEAR(y[r * w.rows + o], want,
                  Tolerance(w.type, &w.values[o * w.cols], &x[r * w.cols], w.cols))
          << "row " << r << " output " << o;
    }
  }
}

// These activations are exact in int8 and bf16, so the only rounding is that of the sums.
TEST_P(LinearTest, ExactActivationsAreNotRounded) {
  const FileWeight w = NewWeight();
  const auto weight = Load(*backend_, w);
  std::vector<float> x(512);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 37 % 255) - 127);
  for (size_t i = 0; i < x.size(); i += 32) x[i] = 127;  // every block's unit is one
  const std::vector<float> y = Multiply(*backend_, *weight, x);
  for (int64_t o = 0; o < w.rows; ++o) {
    double want = 0, sum = 0;
    for (int64_t i = 0; i < w.cols; ++i) {
      want += static_cast<double>(w.values[o * w.cols + i]) * x[i];
      sum += std::fabs(static_cast<double>(w.values[o * w.cols + i]) * x[i]);
    }
    ASSERT_NEAR(y[o], want, 4e-6 * sum) << "output " << o;
  }
}

// Each output selects one activation, and so shows what that activation was rounded to.
TEST(LinearAcrossIsas, ActivationsAreRoundedToUnitsOfTheirBlock) {
  constexpr int64_t kCols = 64;
  FileWeight w{DType::kQ8_0,
               kCols,
               kCols,
               std::vector<std::byte>(kCols * RowBytes(DType::kQ8_0, kCols)),
               {}};
  for (int64_t o = 0; o < kCols; ++o) {
    std::byte* const row = w.bytes.data() + o * RowBytes(DType::kQ8_0, kCols);
    for (int block = 0; block < 2; ++block) row[34 * block + 1] = std::byte{0x3c};  // scales of one
    row[34 * (o / 32) + 2 + o % 32] = std::byte{1};
  }
  const float peaks[] = {127, 127.00001f, 254, 1, 0.9921875f, 0.9921876f, 3e-5f, 1e20f, 1e-20f, 0};
  for (const KernelSet& set : TestedSets()) {
    const auto backend = NewBackend(set, 1);
    const auto weight = Load(*backend, w);
    for (int64_t rows : {1, 4, 8, 12, 64}) {
      std::vector<float> x = RandomFloats(static_cast<size_t>(rows * kCols), 3, 0.2f);
      for (size_t b = 0; b < x.size(); b += 32) {
        const float peak = peaks[b / 32 % std::size(peaks)];
        for (size_t i = b; i < b + 32; ++i) x[i] = std::clamp(x[i], -1.0f, 1.0f) * peak;
        x[b + 5] = -peak;
      }
      const std::vector<float> y = Multiply(*backend, *weight, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const double unit = UnitOf(peaks[i / 32 % std::size(peaks)]);
        ASSERT_EQ(y[i], std::nearbyint(x[i] / unit) * unit)
            << set.name() << ", " << rows << " rows, " << i << ": " << x[i];
      }
    }
  }
}

// Some kernels sum products in 16 bits. These sums must not overflow even with the largest codes
// and the largest activations.
TEST_P(LinearTest, TheLargestSumsDoNotOverflow) {
  const DType type = GetParam().type;
  if (BlockElements(type) == 1) GTEST_SKIP() << "not quantised";
  const int64_t block = RowBytes(type, BlockElements(type));
  const bool has_minimum = TraitsOf(*FormatOf(type)).has_minimum;
  FileWeight w{
      type, 16, 512, std::vector<std::byte>(16 * RowBytes(type, 512), std::byte{0xff}), {}};
  for (size_t at = type == DType::kQ6_K ? 208 : 0; at < w.bytes.size(); at += block) {
    for (size_t half = 0; half < (has_minimum ? 2 : 1); ++half) {  // 1.0 in half precision
      w.bytes[at + 2 * half] = std::byte{0};
      w.bytes[at + 2 * half + 1] = std::byte{0x3c};
    }
  }
  w.values.resize(16 * 512);
  Dequantize(type, w.bytes.data(), w.values);
  const auto weight = Load(*backend_, w);
  for (int64_t rows : {1, 4, 8, 64}) {
    std::vector<float> x(rows * 512, 127.0f);
    for (int64_t r = 1; r < rows; r += 2) std::fill_n(&x[r * 512], 512, -127.0f);
    const std::vector<float> y = Multiply(*backend_, *weight, x);
    for (int64_t i = 0; i < rows * 16; ++i) {
      double want = 0;
      for (int64_t k = 0; k < 512; ++k)
        want += double{w.values[i % 16 * 512 + k]} * x[i / 16 * 512 + k];
      ASSERT_NEAR(y[i], want, 1e-5 * std::fabs(want) + 1) << rows << " rows, " << i;
    }
  }
}

TEST_P(LinearTest, EmbedReturnsTheDequantisedValuesOfTheFile) {
  const FileWeight w = NewWeight();
  const auto weight = Load(*backend_, w);
  std::vector<Token> tokens(static_cast<size_t>(w.rows));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(tokens.size() - 1 - i);
  const Buffer out = *backend_->Allocate(DType::kF32, w.rows, w.cols);
  backend_->Embed(*weight, tokens, out.tensor);
  const std::vector<float> y = Values(*backend_, out.tensor);
  for (size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_TRUE(SameBits(&y[i * 512], &w.values[static_cast<size_t>(tokens[i]) * 512], 512)) << i;
  }
}

TEST_P(LinearTest, AddsBiasAndAccumulates) {
  const FileWeight w = NewWeight();
  const auto weight = Load(*backend_, w);
  const std::vector<float> x = RandomFloats(3 * 512, 3), product = Multiply(*backend_, *weight, x);
  const std::vector<float> bias = RandomFloats(37, 4), before = RandomFloats(3 * 37, 5);
  const Buffer in = Filled(*backend_, 3, 512, x), out = Filled(*backend_, 3, 37, before);
  const Buffer b = Filled(*backend_, 1, 37, bias);
  const LinearOut group[] = {
      {.weight = weight.get(), .out = out.tensor, .bias = b.tensor, .accumulate = true}};
  backend_->Linear(in.tensor, group);
  const std::vector<float> y = Values(*backend_, out.tensor);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], (before[i] + product[i]) + bias[i % 37]);
}

TEST_P(LinearTest, NanAndInfinityAreRoundedToZero) {
  if (BlockElements(GetParam().type) == 1) GTEST_SKIP() << "no codes";
  const auto weight = Load(*backend_, NewWeight());
  std::vector<float> x = RandomFloats(512, 3), zeroed = x;
  const float not_finite[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 3; ++i) {
    x[40 * i + 7] = not_finite[i];
    zeroed[40 * i + 7] = 0;
  }
  EXPECT_EQ(Multiply(*backend_, *weight, x), Multiply(*backend_, *weight, zeroed));
}

// The fields of a configuration that products of `type` depend on, as a tuple.
auto ProductsOf(const KernelConfig& c, DType type) {
  const bool quantised = BlockElements(type) > 1;
  return std::tuple(c.most_chunk_rows, c.least_chunk_rows,
                    quantised ? c.streams : c.interleaved_panels,
                    quantised ? c.unit : ProductUnit::kFastest);
}

// The configurations that `kernels` support, one for each way to compute products of `type`.
std::vector<KernelConfig> ConfigsFor(const Kernels& kernels, DType type) {
  std::vector<KernelConfig> configs;
  for (const KernelConfig& config : AdmittedConfigs(kernels)) {
    if (std::none_of(configs.begin(), configs.end(), [&](const KernelConfig& earlier) {
          return ProductsOf(earlier, type) == ProductsOf(config, type);
        })) {
      configs.push_back(config);
    }
  }
  return configs;
}

// A row's products have the same bits by itself and anywhere in any batch, on any number of
// threads.
TEST_P(LinearTest, RowsDoNotDependOnEachOther) {
  const auto& [set, type] = GetParam();
  const FileWeight w = NewWeight(70), second_file = NewWeight(33, 7);
  const std::vector<float> x = RandomFloats(300 * 512, 6);
  std::vector<float> alone;
  const auto single_thread = NewBackend(set, 1);
  const auto single_weight = Load(*single_thread, w);
  for (int r = 0; r < 300; ++r) {
    const auto y =
        Multiply(*single_thread, *single_weight, {x.begin() + r * 512, x.begin() + (r + 1) * 512});
    alone.insert(alone.end(), y.begin(), y.end());
  }
  const std::vector<KernelConfig> configs = ConfigsFor(*set.kernels, type);
  for (size_t i = 0; i < std::max<size_t>(4, configs.size()); ++i) {
    const KernelConfig& config = configs[i % configs.size()];
    const int threads = static_cast<int>(i % 4) + 1;
    SCOPED_TRACE(Describe(config) + ", " + std::to_string(threads) + " threads");
    const auto backend = NewBackend(set, config, threads);
    const auto weight = Load(*backend, w), second = Load(*backend, second_file);
    std::vector<int> sizes = {61, 130};
    for (int rows = 1; rows <= 64; rows += 7) sizes.push_back(rows);
    const bool is_default = ProductsOf(config, type) == ProductsOf(set.kernels->on_amd, type) ||
                            ProductsOf(config, type) == ProductsOf(set.kernels->elsewhere, type);
    if (is_default && i < configs.size()) {
      sizes.resize(64);
      std::iota(sizes.begin(), sizes.end(), 1);
      sizes.insert(sizes.end(), {130, 300});
    }
    for (int rows : sizes) {
      const int first = (rows * 37) % (301 - rows);
      const Buffer in =
          Filled(*backend, rows, 512, {x.begin() + first * 512, x.begin() + (first + rows) * 512});
      const Buffer out = *backend->Allocate(DType::kF32, rows, 70);
      const Buffer out2 = *backend->Allocate(DType::kF32, rows, 33);
      const LinearOut group[] = {{.weight = weight.get(), .out = out.tensor},
                                 {.weight = second.get(), .out = out2.tensor}};
      backend->Linear(in.tensor, group);
      const std::vector<float> y = Values(*backend, out.tensor);
      ASSERT_TRUE(SameBits(y.data(), &alone[static_cast<size_t>(first) * 70], y.size()))
          << rows << " rows from " << first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, LinearTest, ::testing::ValuesIn(AllCases()), CaseName);

// Codes of a file need not come from our quantiser: every byte is a possible code.
TEST(LinearAcrossIsas, EveryInt8CodeIsExact) {
  std::vector<std::byte> bytes(16 * RowBytes(DType::kQ8_0, 256));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = i % 34 == 0   ? std::byte{0}
               : i % 34 == 1 ? std::byte{0x3c}
                             : std::byte(i * 167 % 256);
    if (i % 34 == 5) bytes[i] = std::byte{0x80};
  }
  std::vector<float> values(16 * 256), x(256);
  Dequantize(DType::kQ8_0, bytes.data(), values);
  for (size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? -127.0f : 127.0f;
  for (const KernelSet& set : TestedSets()) {
    const auto backend = NewBackend(set, 1);
    const auto weight = Load(*backend, {DType::kQ8_0, 16, 256, bytes, {}});
    const std::vector<float> y = Multiply(*backend, *weight, x);
    for (int o = 0; o < 16; ++o) {
      float want = 0;  // integers below 2^24: exact
      for (int i = 0; i < 256; ++i) want += values[o * 256 + i] * x[i];
      EXPECT_EQ(y[o], want) << set.name() << " output " << o;
    }
  }
}

TEST(Linear, UnquantisedWeightsMayHaveAnyShape) {
  for (const KernelSet& set : TestedSets()) {
    const auto backend = NewBackend(set, 2);
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int64_t cols : {1, 7, 16, 33, 95}) {
        const FileWeight w = RandomWeight(type, 5, cols, 11);
        const std::vector<float> x = RandomFloats(static_cast<size_t>(3 * cols), 12);
        const auto y = Multiply(*backend, *Load(*backend, w), x);
        for (int64_t i = 0; i < 15; ++i) {
          double want = 0;
          for (int64_t k = 0; k < cols; ++k) {
            want += static_cast<double>(w.values[i % 5 * cols + k]) * x[i / 5 * cols + k];
          }
          EXPECT_NEAR(y[i], want,
                      Tolerance(type, &w.values[i % 5 * cols], &x[i / 5 * cols], cols) + 1e-6);
        }
      }
    }
  }
}

// With interleaved unquantised panels, Embed returns the file's values, and products have the same
// bits as without interleaving, on any number of threads. A panel is not a whole number of slabs,
// and the number of panels is not a multiple of four.
TEST(Linear, InterleavedPanelsHaveTheSameBits) {
  constexpr int64_t kCols = 1061, kOutputs[] = {70, 150};
  const std::vector<float> x = RandomFloats(29 * kCols, 23);
  for (const KernelSet& set : TestedSets()) {
    if (set.kernels->limits.most_interleaved_panels == 1) continue;
    for (DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      const FileWeight files[] = {RandomWeight(type, kOutputs[0], kCols, 21),
                                  RandomWeight(type, kOutputs[1], kCols, 22)};
      std::vector<std::vector<float>> uninterleaved;
      for (int threads = 0; threads <= 3; ++threads) {
        KernelConfig config = set.kernels->elsewhere;
        config.interleaved_panels = threads == 0 ? 1 : kMostTogether;
        const auto owned = NewBackend(set, config, std::max(1, threads));
        Backend& backend = *owned;
        const auto first = Load(backend, files[0]), second = Load(backend, files[1]);
        const Buffer row = *backend.Allocate(DType::kF32, 1, kCols);
        const Token token[] = {77};
        backend.Embed(*second, token, row.tensor);
        ASSERT_TRUE(
            SameBits(Values(backend, row.tensor).data(), &files[1].values[77 * kCols], kCols));
        std::vector<std::vector<float>> sums;
        for (int64_t rows : {1, 3, 8, 12, 29}) {
          const Buffer in = Filled(backend, rows, kCols, {x.begin(), x.begin() + rows * kCols});
          const Buffer out = *backend.Allocate(DType::kF32, rows, kOutputs[0]);
          const Buffer out2 = *backend.Allocate(DType::kF32, rows, kOutputs[1]);
          const LinearOut group[] = {{.weight = first.get(), .out = out.tensor},
                                     {.weight = second.get(), .out = out2.tensor}};
          backend.Linear(in.tensor, group);
          sums.push_back(Values(backend, out.tensor));
          sums.push_back(Values(backend, out2.tensor));
        }
        if (threads == 0) uninterleaved = sums;
        for (size_t i = 0; i < sums.size(); ++i) {
          ASSERT_TRUE(SameBits(sums[i].data(), uninterleaved[i].data(), sums[i].size()))
              << set.name() << ", " << DTypeName(type) << ", products " << i << " on " << threads
              << " threads";
        }
      }
    }
  }
}

// Rows so long that a 32-bit sum over the whole row overflows. One code path keeps such a sum
// (kBlocksDepend in linear_kernels.h) and uses only its increase from block to block.
TEST(Linear, SumsOfLongRowsMayWrap) {
  constexpr int64_t kCols = int64_t{5} << 15;
  FileWeight w{DType::kQ8_0,
               16,
               kCols,
               std::vector<std::byte>(16 * RowBytes(DType::kQ8_0, kCols), std::byte{127}),
               {}};
  for (size_t at = 0; at < w.bytes.size(); at += 34) {
    w.bytes[at] = std::byte{0};
    w.bytes[at + 1] = std::byte{0x3c};  // 1.0 in half precision
  }
  for (const KernelSet& set : TestedSets()) {
    const auto backend = NewBackend(set, 1);
    const auto weight = Load(*backend, w);
    const std::vector<float> one_row =
        Multiply(*backend, *weight, std::vector<float>(kCols, 127.0f));
    const std::vector<float> two_rows =
        Multiply(*backend, *weight, std::vector<float>(2 * kCols, 127.0f));
    for (size_t i = 0; i < 16; ++i) {
      ASSERT_NEAR(one_row[i], 127.0 * 127.0 * kCols, 1e-3 * 127 * 127 * kCols) << set.name();
      ASSERT_EQ(one_row[i], two_rows[i]) << set.name();
    }
  }
}

TEST(Linear, RefusesTypesAndShapesItCannotPack) {
  const auto backend = NewBackend(TestedSets().front(), 1);
  const std::vector<std::byte> bytes(4096);
  EXPECT_FALSE(backend->LoadWeight(DType::kQ8_0, 2, 48, bytes.data()).ok());
  EXPECT_FALSE(backend->LoadWeight(DType::kQ4_K, 2, 128, bytes.data()).ok());
  EXPECT_FALSE(backend->LoadWeight(DType::kI32, 2, 32, bytes.data()).ok());
  EXPECT_FALSE(backend->LoadWeight(DType::kF32, 0, 32, bytes.data()).ok());
}

}  // namespace
}  // namespace foretoken
