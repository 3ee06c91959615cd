// The smaller ops of every backend match double-precision references, and backends are found by
// name.
#include "backend/backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/reference.h"
#include "backend/tested_backends_testing.h"

namespace foretoken {
namespace {

using testing::Filled;
using testing::RandomFloats;
using testing::SameBits;
using testing::Values;

class BackendTest : public ::testing::TestWithParam<testing::TestedBackend> {
 protected:
  BackendTest() : backend_(GetParam().New(2)) {}
  Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

// `x` rounded to `type` and converted back.
std::vector<float> Rounded(DType type, const std::vector<float>& x) {
  std::vector<std::byte> bytes(RowBytes(type, static_cast<int64_t>(x.size())));
  std::vector<float> rounded(x.size());
  Quantize(type, x, bytes.data());
  Dequantize(type, bytes.data(), rounded);
  return rounded;
}

TEST_P(BackendTest, HasANameAndTheGivenThreads) {
  EXPECT_FALSE(backend().Name().empty());
  EXPECT_EQ(backend().threads(), 2);
}

TEST_P(BackendTest, AllocatesAlignedZerosAndDownloadsWhatWasUploaded) {
  for (DType type : testing::kCacheTypes) {
    const Buffer b = *backend().Allocate(type, 3, 64);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b.tensor.data) % 64, 0u);
    for (float v : Values(backend(), b.tensor)) EXPECT_EQ(v, 0.0f);
  }
  const auto x = RandomFloats(5 * 7, 1);
  EXPECT_EQ(Values(backend(), Filled(backend(), 5, 7, x).tensor), x);
}

class PagedRowsTest : public BackendTest {
 protected:
  static constexpr int64_t kRows = 150, kCols = 96;

  // Calls body for caches of every type, divided into groups and undivided, that hold rows [0,
  // kRows) of `x_`.
  template <typename Body>
  void EachCache(const Body& body) {
    for (DType type : testing::kCacheTypes) {
      want_ = Rounded(type, x_);
      for (const int64_t group : {kCols / 3, kCols}) {
        const auto pages = testing::NewPages(backend(), type, kRows, kCols, group, 1);
        const RowRun all[] = {{.rows = pages.rows(), .count = kRows}};
        backend().StoreRows(in_.tensor, all);
        body(type, pages.rows());
      }
    }
  }
  // The expected values of rows `which` of a cache, concatenated.
  std::vector<float> Want(const std::vector<int>& which) const {
    std::vector<float> rows;
    for (const int i : which) {
      rows.insert(rows.end(), want_.begin() + i * kCols, want_.begin() + (i + 1) * kCols);
    }
    return rows;
  }

  std::vector<float> x_ = RandomFloats(kRows * kCols, 4), want_;
  Buffer in_ = Filled(backend(), kRows, kCols, x_);
};

// Paged rows hold the same values as rows of one tensor.
TEST_P(PagedRowsTest, HoldTheValuesOfContiguousRows) {
  EachCache([&](DType, const PagedRows& cache) {
    EXPECT_EQ(Values(backend(), cache, 0, kRows), want_);
    EXPECT_EQ(Values(backend(), cache.Groups(0, 1), 60, 1),
              std::vector<float>(want_.begin() + 60 * kCols,
                                 want_.begin() + 60 * kCols + cache.group_cols));
  });
}

// The runs go to two caches. Some cross the end of a page, and one is empty.
TEST_P(PagedRowsTest, StoreRowsWritesRunsOfSeveralSequences) {
  EachCache([&](DType type, const PagedRows& first) {
    const auto pages = testing::NewPages(backend(), type, kRows, kCols, first.group_cols, 2);
    const PagedRows second = pages.rows();
    const RowRun runs[] = {{.rows = first, .to = 62, .from = 5, .count = 4},
                           {.rows = second, .to = 3, .from = 9, .count = 0},
                           {.rows = second, .to = 0, .from = 20, .count = 130},
                           {.rows = first, .to = 0, .from = 149, .count = 1}};
    backend().StoreRows(in_.tensor, runs);
    EXPECT_EQ(Values(backend(), first, 61, 6), Want({61, 5, 6, 7, 8, 66}));
    EXPECT_EQ(Values(backend(), first, 0, 2), Want({149, 1}));
    EXPECT_EQ(Values(backend(), second, 0, 130),
              std::vector<float>(want_.begin() + 20 * kCols, want_.end()));
  });
}

TEST_P(PagedRowsTest, CompactRowsKeepsTheOrder) {
  EachCache([&](DType, const PagedRows& cache) {
    backend().CompactRows(cache, std::array{62, 64, 67, 130}, 62);
    EXPECT_EQ(Values(backend(), cache, 60, 8), Want({60, 61, 62, 64, 67, 130, 66, 67}));
  });
}

TEST_P(PagedRowsTest, CopyRowsLeavesOtherRowsUnchanged) {
  EachCache([&](DType type, const PagedRows& cache) {
    const auto pages = testing::NewPages(backend(), type, kRows, kCols, cache.group_cols, 3);
    const Buffer zeros = *backend().Allocate(DType::kF32, kRows, kCols);
    const RowRun all[] = {{.rows = pages.rows(), .count = kRows}};
    backend().StoreRows(zeros.tensor, all);
    backend().CopyRows(cache, pages.rows(), 60, 10);
    std::vector<float> want(kRows * kCols);
    std::copy(want_.begin() + 60 * kCols, want_.begin() + 70 * kCols, want.begin() + 60 * kCols);
    EXPECT_EQ(Values(backend(), pages.rows(), 0, kRows), want);
  });
}

TEST_P(BackendTest, StoreRowsRoundsLikeQuantize) {
  std::vector<float> x = {0.0f,  -0.0f,  1.0f,        -65504.0f,  65519.0f, 65520.0f,
                          1e-7f, -6e-8f, 2e-8f,       6.1e-5f,    1.0f / 3, -HUGE_VALF,
                          3e38f, 1e-40f, 1.00390625f, 1.01171875f};
  x.resize(19, -0.1f);  // not a whole number of vectors
  for (DType type : {DType::kF16, DType::kBF16, DType::kF32}) {
    const Buffer in = Filled(backend(), 1, 19, x), out = *backend().Allocate(type, 1, 19);
    backend().StoreRows(in.tensor, out.tensor);
    const auto want = Rounded(type, x);
    EXPECT_TRUE(SameBits(Values(backend(), out.tensor).data(), want.data(), 19)) << DTypeName(type);
  }
}

TEST_P(BackendTest, RmsNormMatchesADoublePrecisionReference) {
  for (int64_t n : {1, 5, 16, 37, 384}) {
    const auto x = RandomFloats(static_cast<size_t>(2 * 3 * n), 2), gain = RandomFloats(n, 3);
    const Buffer in = Filled(backend(), 2, 3 * n, x), g = Filled(backend(), 1, n, gain);
    const Buffer out = *backend().Allocate(DType::kF32, 2, 3 * n);
    backend().RmsNorm(in.tensor, g.tensor, 1e-5f, out.tensor);
    const auto y = Values(backend(), out.tensor);
    backend().RmsNorm(in.tensor, g.tensor, 1e-5f, in.tensor);
    EXPECT_EQ(Values(backend(), in.tensor), y) << "in place";
    for (int64_t i = 0; i < 6 * n; ++i) {
      double squares = 0;
      for (int64_t j = i / n * n; j < (i / n + 1) * n; ++j) squares += double{x[j]} * x[j];
      const double want = x[i] / std::sqrt(squares / static_cast<double>(n) + 1e-5) * gain[i % n];
      ASSERT_NEAR(y[i], want, 2e-6 * std::fabs(want)) << n;
    }
  }
}

TEST_P(BackendTest, SiluMulMatchesADoublePrecisionReference) {
  const int64_t n = 133;
  auto gate = RandomFloats(2 * n, 4, 8.0f);
  gate[0] = -200, gate[1] = 200, gate[2] = -88, gate[3] = 0;
  const auto up = RandomFloats(2 * n, 5);
  const Buffer g = Filled(backend(), 2, n, gate), u = Filled(backend(), 2, n, up);
  backend().SiluMul(g.tensor, u.tensor);
  const auto y = Values(backend(), g.tensor);
  for (int64_t i = 0; i < 2 * n; ++i) {
    const double want = gate[i] / (1 + std::exp(-static_cast<double>(gate[i]))) * up[i];
    ASSERT_NEAR(y[i], want, 1e-6 * std::fabs(want) + 1e-30) << gate[i];
  }
}

TEST_P(BackendTest, AddSumsFloatsAndStoreRowsRoundsToTheType) {
  const auto x = RandomFloats(3 * 64, 6), y = RandomFloats(3 * 64, 7);
  const Buffer a = Filled(backend(), 3, 64, x), b = Filled(backend(), 3, 64, y);
  backend().Add(a.tensor, b.tensor);
  const auto sum = Values(backend(), b.tensor);
  for (size_t i = 0; i < sum.size(); ++i) EXPECT_EQ(sum[i], x[i] + y[i]);
  for (DType type : testing::kCacheTypes) {
    const Buffer stored = *backend().Allocate(type, 3, 64);
    backend().StoreRows(a.tensor, stored.tensor);
    EXPECT_EQ(Values(backend(), stored.tensor), Rounded(type, x)) << DTypeName(type);
  }
}

TEST_P(BackendTest, RopeRotatesPairsInBothLayouts) {
  const int head_dim = 80, half = 36, rows = 3;  // rotates the first 72 of 80
  RopeTable table;
  for (int i = 0; i < half; ++i) table.inv_freq.push_back(std::pow(10000.0f, -2.0f * i / 72));
  table.magnitude = 1.25f;
  const Pos positions[] = {0, 5, 4097};
  const auto x = RandomFloats(rows * 2 * head_dim, 8);
  for (bool interleaved : {false, true}) {
    table.interleaved = interleaved;
    const Buffer b = Filled(backend(), rows, 2 * head_dim, x);
    backend().Rope(b.tensor, positions, head_dim, table);
    const auto y = Values(backend(), b.tensor);
    for (int r = 0; r < rows; ++r) {
      for (int h = 0; h < 2; ++h) {
        const int at = (r * 2 + h) * head_dim;
        for (int i = 0; i < half; ++i) {
          const int p = at + (interleaved ? 2 * i : i),
                    q = at + (interleaved ? 2 * i + 1 : i + half);
          const float angle = static_cast<float>(positions[r]) * table.inv_freq[i];
          const double c = 1.25 * std::cos(double{angle}), s = 1.25 * std::sin(double{angle});
          ASSERT_NEAR(y[p], x[p] * c - x[q] * s, 2e-6);
          ASSERT_NEAR(y[q], x[q] * c + x[p] * s, 2e-6);
        }
        for (int i = 2 * half; i < head_dim; ++i) ASSERT_EQ(y[at + i], x[at + i]);
      }
    }
  }
}

// Gathers rows in any order and with repetitions into columns of a wider tensor, and ascending rows
// in place. With 3,000 columns, several threads copy.
TEST_P(BackendTest, GatherKeepsTheGivenOrder) {
  for (const int64_t cols : {4, 3000}) {
    std::vector<float> x(static_cast<size_t>(10 * cols));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const Buffer b = Filled(backend(), 10, cols, x),
                 wide = *backend().Allocate(DType::kF32, 9, 2 * cols);
    const std::vector<int> any = {7, 0, 7, 9, 1, 2, 3, 4, 8}, ascending = {0, 3, 5, 9};
    const auto row = [&](int r) {
      return std::vector<float>(x.begin() + r * cols, x.begin() + (r + 1) * cols);
    };
    backend().Gather(b.tensor, any, wide.tensor.Cols(cols, cols));
    for (size_t i = 0; i < any.size(); ++i) {
      const auto i64 = static_cast<int64_t>(i);
      EXPECT_EQ(Values(backend(), wide.tensor.Cols(cols, cols).Rows(i64, 1)), row(any[i]));
      EXPECT_EQ(Values(backend(), wide.tensor.Cols(0, cols).Rows(i64, 1)),
                std::vector<float>(static_cast<size_t>(cols)));
    }
    backend().Gather(b.tensor, ascending, b.tensor.Rows(0, 4));
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(Values(backend(), b.tensor.Rows(i, 1)),
                row(i < 4 ? ascending[static_cast<size_t>(i)] : i));
    }
  }
}

TEST_P(BackendTest, ArgMaxTakesTheLowestIdOfEqualsAndIgnoresNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float low = -std::numeric_limits<float>::infinity();
  for (int64_t n : {1, 3, 16, 31, 32, 100}) {
    std::vector<float> x(static_cast<size_t>(n) * 6, -3.0f);
    for (int64_t i = 0; i < n; ++i) {
      x[n + i] = low;                             // row 1: all -infinity
      x[2 * n + i] = nan;                         // row 2: all NaN
      x[3 * n + i] = i == n - 1 ? 2.0f : nan;     // row 3: one value that is not NaN
      x[4 * n + i] = i >= n / 2 ? 7.0f : low;     // row 4: equal values in the upper half
      x[5 * n + i] = static_cast<float>(i % 50);  // row 5
    }
    const Buffer b = Filled(backend(), 6, n, x);
    std::vector<Token> got(6);
    backend().ArgMax(b.tensor, got);
    const auto last = static_cast<Token>(std::min<int64_t>(n - 1, 49));
    EXPECT_EQ(got, (std::vector<Token>{0, 0, 0, static_cast<Token>(n - 1),
                                       static_cast<Token>(n / 2), last}))
        << n;
  }
}

TEST_P(BackendTest, TopKIsThePrefixOfAFullSort) {
  const float low = -std::numeric_limits<float>::infinity();
  for (int64_t n : {1, 3, 16, 31, 64, 65, 1000}) {
    for (int count : {1, 2, 10}) {
      std::vector<float> x = RandomFloats(static_cast<size_t>(n) * 5, 7);
      for (int64_t i = 0; i < n; ++i) {
        x[n + i] = std::round(x[n + i]);         // row 1: many equal values
        x[2 * n + i] = i % 3 == 1 ? 4.0f : low;  // row 2: two thirds ruled out
        x[3 * n + i] = -100 - x[3 * n + i];      // row 3: all below zero
        x[4 * n + i] *= 200;                     // row 4: one token has nearly all probability
      }
      const Buffer b = Filled(backend(), 5, n, x);
      std::vector<RankedToken> got(static_cast<size_t>(5 * count));
      backend().TopK(b.tensor, count, got);
      for (int64_t r = 0; r < 5; ++r) {
        const float* row = &x[static_cast<size_t>(r * n)];
        std::vector<Token> order;
        double sum = 0;
        for (Token i = 0; i < n; ++i) {
          if (row[i] != low) order.push_back(i);
          sum += std::exp(static_cast<double>(row[i]));
        }
        std::ranges::stable_sort(order, [&](Token p, Token q) { return row[p] > row[q]; });
        for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
          const RankedToken& ranked = got[static_cast<size_t>(r * count) + i];
          ASSERT_EQ(ranked.token, i < order.size() ? order[i] : kNoToken) << n << " row " << r;
          if (ranked.token == kNoToken) break;
          const double want = row[ranked.token] - std::log(sum);
          EXPECT_NEAR(ranked.log_share, want, 2e-5 + 1e-6 * std::fabs(want)) << n << " row " << r;
        }
      }
    }
  }
}

// TopK gives only kNoToken for a row with NaN, +infinity or a huge logit. -infinity does not make a
// row unusable.
TEST_P(BackendTest, TopKOfUnusableLogitsIsEmpty) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float high = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {nan, high, 2e6f, -2e6f, -high};
  std::vector<float> x(special.size() * 40, 1.0f);
  for (size_t r = 0; r < special.size(); ++r) x[r * 40 + 37] = special[r];
  const Buffer b = Filled(backend(), 5, 40, x);
  std::vector<RankedToken> got(10);
  backend().TopK(b.tensor, 2, got);
  for (size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(got[2 * r].token, kNoToken);
    EXPECT_EQ(got[2 * r + 1].token, kNoToken);
  }
  EXPECT_EQ(got[8].token, 0);
  EXPECT_EQ(got[9].token, 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, PagedRowsTest, ::testing::ValuesIn(testing::TestedBackends()),
                         [](const auto& info) { return info.param.ParameterName(); });
INSTANTIATE_TEST_SUITE_P(Backends, BackendTest, ::testing::ValuesIn(testing::TestedBackends()),
                         [](const auto& info) { return info.param.ParameterName(); });

// NewBackend makes a backend of every name in BackendNames.
TEST(Backends, EveryListedNameMakesABackend) {
  for (const std::string& name : BackendNames()) {
    const auto backend = NewBackend(name, {.threads = 3});
    ASSERT_TRUE(backend.ok()) << backend.error().message;
    EXPECT_EQ((*backend)->threads(), 3);
    EXPECT_GT((*backend)->CrossoverRows(), 0) << name;
  }
}

TEST(Backends, AVariantIsNamedAfterAColon) {
  for (const CpuIsa isa : AvailableCpuIsas()) {
    EXPECT_EQ((*NewBackend(CpuBackendName(isa)))->Name(), "cpu/" + std::string(CpuIsaName(isa)));
  }
  EXPECT_EQ(CpuBackendName(CpuIsa::kAuto), "cpu");
  EXPECT_EQ((*NewBackend("cpu"))->Name(), (*NewBackend(BackendNames().back()))->Name());
}

TEST(Backends, UnknownNamesAreRefusedWithAListOfKnownOnes) {
  for (const char* name : {"", "gpu", "cpu:", "cpu:mmx", "cpu:auto", ":avx2", "cpu:avx2:avx2"}) {
    const auto backend = NewBackend(name);
    ASSERT_FALSE(backend.ok()) << name;
    EXPECT_TRUE(backend.error().message.starts_with("backend: unknown name '" + std::string(name) +
                                                    "'; known: cpu, cpu:portable"))
        << backend.error().message;
  }
}

TEST(CpuIsas, ThePortableSetIsAlwaysAvailable) {
  EXPECT_EQ(AvailableCpuIsas().front(), CpuIsa::kPortable);
}

// kAuto picks the last of the available sets.
TEST(CpuIsas, AutoPicksTheLastAvailableSet) {
  const auto backend = NewCpuBackend();
  ASSERT_TRUE(backend.ok());
  EXPECT_EQ((*backend)->Name(), "cpu/" + std::string(CpuIsaName(AvailableCpuIsas().back())));
}

TEST(CpuIsas, KernelsCarryTheNameOfTheirSet) {
  for (const CpuIsa isa : AvailableCpuIsas()) {
    EXPECT_EQ((*KernelsFor(isa))->name, CpuIsaName(isa));
  }
}

TEST(CpuIsas, AnUnavailableSetIsRefusedByName) {
  const std::vector<CpuIsa> here = AvailableCpuIsas();
  for (const CpuIsa isa : AllCpuIsas()) {
    const auto kernels = KernelsFor(isa);
    ASSERT_EQ(kernels.ok(), std::find(here.begin(), here.end(), isa) != here.end());
    if (kernels.ok()) continue;
    EXPECT_EQ(kernels.error().message, "the instruction set '" + std::string(CpuIsaName(isa)) +
                                           "' is not available on this machine");
  }
}

#if defined(__x86_64__)
// The order of the available sets, from the slowest to the fastest, says only which set is
// preferred: all of them are tested.
TEST(CpuIsas, FloatsArePreferredToBf16PairsOnIntelCores) {
  const std::vector<CpuIsa> isas = AvailableCpuIsas();
  const auto pairs = std::find(isas.begin(), isas.end(), CpuIsa::kAvx512);
  const auto floats = std::find(isas.begin(), isas.end(), CpuIsa::kAvx512Vnni);
  if (pairs == isas.end()) GTEST_SKIP() << "no products of bf16 pairs here";
  ASSERT_NE(floats, isas.end());
  EXPECT_EQ(pairs < floats, __builtin_cpu_is("intel") != 0);
}
#endif

}  // namespace
}  // namespace foretoken
