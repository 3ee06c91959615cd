// Attention: results are right up to rounding. A token's result has the same bits whether its
// prefix is committed or provisional, and whatever tree and batch the token is scored in.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "backend/cpu/attention/unit_division.h"
#include "backend/cpu/isa/kernel_sets_testing.h"
#include "backend/cpu/reference.h"

namespace foretoken {
namespace {

using testing::Filled;
using testing::KernelSet;
using testing::NewBackend;
using testing::PagedBuffer;
using testing::RandomFloats;
using testing::SameBits;
using testing::Values;

struct Shape {
  int heads, kv_heads, head_dim, window;
  int group() const { return heads / kv_heads; }
  int64_t q_cols() const { return int64_t{heads} * head_dim; }
  int64_t kv_cols() const { return int64_t{kv_heads} * head_dim; }
};

struct Case {
  KernelSet set;
  DType cache;
  Shape shape;
  bool grouped = true;  // each head is a group of the cache
  int head_dim() const { return grouped ? shape.head_dim : 0; }
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const KernelSet& set : testing::TestedSets()) {
    for (DType type : testing::kCacheTypes) {
      for (Shape shape :
           {Shape{8, 2, 64, 0}, Shape{9, 3, 64, 0}, Shape{3, 3, 32, 0}, Shape{8, 2, 64, 100},
            Shape{6, 1, 96, 40}, Shape{7, 1, 128, 25}, Shape{8, 4, 8, 0}}) {
        cases.push_back({set, type, shape});
      }
    }
  }
  return cases;
}

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return std::string(c.set.name()) + "_" + std::string(DTypeName(c.cache)) + "_" +
         std::to_string(c.shape.heads) + "x" + std::to_string(c.shape.kv_heads) + "x" +
         std::to_string(c.shape.head_dim) + "w" + std::to_string(c.shape.window);
}

// Whether the matrix unit computes the products, with 16 bits of every value (8 for a BF16 cache).
bool UsesMatrixUnit(const Case& c) { return c.set.isa == CpuIsa::kAmx && c.cache != DType::kF32; }
// Whether the cache is multiplied as bytes, with queries rounded to 15 bits and weights to 16.
bool MultipliesBytes(const Case& c) {
  return (c.set.isa == CpuIsa::kAvx512Vnni || c.set.isa == CpuIsa::kAvx512) &&
         c.cache == DType::kQ8_0 && c.shape.head_dim % 32 == 0;
}
// Whether queries and weights are rounded to bf16 (8 bits) like the cache.
bool RoundsToBf16(const Case& c) {
  return (c.set.isa == CpuIsa::kAvx512 || UsesMatrixUnit(c)) && c.cache == DType::kBF16;
}

// Queries, keys or values, rounded as products round them.
std::vector<float> Multiplied(const Case& c, std::vector<float> values) {
  if (!RoundsToBf16(c)) return values;
  for (float& x : values) x = Bf16ToFloat(FloatToBf16(x));
  return values;
}

// A tree after `committed` rows: the parent, query, key and value of each node, and the committed
// keys and values.
struct Tree {
  int committed = 0;
  std::vector<int> parent;  // -1: child of the committed sequence
  std::vector<float> q, k, v;
  std::vector<float> committed_k, committed_v;

  int nodes() const { return static_cast<int>(parent.size()); }
  std::vector<int> Path(int node) const {
    std::vector<int> path;
    for (; node >= 0; node = parent[static_cast<size_t>(node)]) path.push_back(node);
    std::reverse(path.begin(), path.end());
    return path;
  }
};

Tree RandomTree(const Shape& shape, int committed, int nodes, uint32_t seed) {
  std::mt19937 rng(seed);
  Tree t{.committed = committed};
  // Some trees begin with a chain, whose rows are a run; others branch at once.
  for (int i = 0; i < nodes; ++i) {
    const bool chain = seed % 2 == 0 && i < nodes / 2;
    t.parent.push_back(chain ? i - 1 : std::uniform_int_distribution<int>(-1, i - 1)(rng));
  }
  t.q = RandomFloats(static_cast<size_t>(nodes * shape.q_cols()), seed + 1, 2.0f);
  t.k = RandomFloats(static_cast<size_t>(nodes * shape.kv_cols()), seed + 2);
  t.v = RandomFloats(static_cast<size_t>(nodes * shape.kv_cols()), seed + 3);
  t.committed_k = RandomFloats(static_cast<size_t>(committed * shape.kv_cols()), seed + 4);
  t.committed_v = RandomFloats(static_cast<size_t>(committed * shape.kv_cols()), seed + 5);
  return t;
}

Visibility VisibilityOf(const Tree& t) {
  Visibility v;
  v.committed = t.committed;
  v.begin.push_back(0);
  for (int n = 0; n < t.nodes(); ++n) {
    const std::vector<int> path = t.Path(n);
    int run = 0;
    while (run < static_cast<int>(path.size()) - 1 && path[static_cast<size_t>(run)] == run) ++run;
    v.run.push_back(run);
    v.chain.insert(v.chain.end(), path.begin() + run, path.end());
    v.begin.push_back(static_cast<int>(v.chain.size()));
  }
  return v;
}

std::vector<float> Gather(const std::vector<float>& rows, int64_t cols,
                          const std::vector<int>& indices) {
  std::vector<float> out;
  for (int i : indices)
    out.insert(out.end(), rows.begin() + i * cols, rows.begin() + (i + 1) * cols);
  return out;
}

std::vector<float> Joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// A cache in the layout of KvCache or, with head_dim 0, undivided. Its pages lie in an order that
// depends on `seed`.
PagedBuffer Cache(Backend& backend, DType type, int64_t cols, int head_dim,
                  const std::vector<float>& values, uint32_t seed = 1) {
  if (head_dim == 0) head_dim = static_cast<int>(cols);
  const int64_t rows = static_cast<int64_t>(values.size()) / cols;
  const int64_t group = head_dim % BlockElements(type) == 0 ? head_dim : cols;
  PagedBuffer cache = testing::NewPages(backend, type, rows, cols, group, seed);
  const Buffer filled = Filled(backend, rows, cols, values);
  const RowRun all[] = {{.rows = cache.rows(), .count = rows}};
  backend.StoreRows(filled.tensor, all);
  return cache;
}

// The input of one sequence in a call.
struct SequenceInput {
  std::vector<float> q, k, v;
  Visibility visible;
};

// The results of all sequences, concatenated.
std::vector<float> Attend(Backend& backend, const Case& c,
                          const std::vector<SequenceInput>& inputs) {
  const Shape& s = c.shape;
  std::vector<PagedBuffer> caches;
  std::vector<AttentionSequence> sequences;
  std::vector<float> q;
  caches.reserve(2 * inputs.size());
  for (const SequenceInput& input : inputs) {
    const auto seed = static_cast<uint32_t>(2 * sequences.size());
    caches.push_back(Cache(backend, c.cache, s.kv_cols(), c.head_dim(), input.k, seed));
    caches.push_back(Cache(backend, c.cache, s.kv_cols(), c.head_dim(), input.v, seed + 1));
    sequences.push_back({.keys = caches[caches.size() - 2].rows(),
                         .values = caches.back().rows(),
                         .visible = &input.visible,
                         .first = static_cast<int>(std::ssize(q) / s.q_cols())});
    q.insert(q.end(), input.q.begin(), input.q.end());
  }
  const int64_t rows = std::ssize(q) / s.q_cols();
  const Buffer query = Filled(backend, rows, s.q_cols(), q);
  const Buffer out = *backend.Allocate(DType::kF32, rows, s.q_cols());
  backend.Attention({.q = query.tensor,
                     .out = out.tensor,
                     .sequences = sequences,
                     .head_dim = s.head_dim,
                     .scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim)),
                     .window = s.window});
  EXPECT_TRUE(backend.TakeFailure().ok());
  return Values(backend, out.tensor);
}

std::vector<float> Attend(Backend& backend, const Case& c, const std::vector<float>& q,
                          const std::vector<float>& k, const std::vector<float>& v,
                          const Visibility& visible) {
  return Attend(backend, c, {{q, k, v, visible}});
}

SequenceInput InputOf(const Tree& t) {
  return {t.q, Joined(t.committed_k, t.k), Joined(t.committed_v, t.v), VisibilityOf(t)};
}

std::vector<float> AttendTree(Backend& backend, const Case& c, const Tree& t) {
  return Attend(backend, c, {InputOf(t)});
}

// The result of one node, scored alone with its ancestors committed.
std::vector<float> AttendAlone(Backend& backend, const Case& c, const Tree& t, int node) {
  const std::vector<int> path = t.Path(node);
  const int64_t kv = c.shape.kv_cols();
  const Visibility alone{.committed = t.committed + static_cast<int>(path.size()) - 1,
                         .run = {0},
                         .begin = {0, 1},
                         .chain = {0}};
  return Attend(backend, c, Gather(t.q, c.shape.q_cols(), {node}),
                Joined(t.committed_k, Gather(t.k, kv, path)),
                Joined(t.committed_v, Gather(t.v, kv, path)), alone);
}

// `values` rounded to the cache type and converted back.
std::vector<float> Stored(Backend& backend, DType type, int64_t cols,
                          const std::vector<float>& values) {
  const PagedBuffer cache = Cache(backend, type, cols, 0, values);
  return Values(backend, cache.rows(), 0, static_cast<int64_t>(values.size()) / cols);
}

// The attention of one head over the given keys and values [n, kv_cols], in double precision.
std::vector<double> NaiveHead(const Shape& s, int head, const float* q, const std::vector<float>& k,
                              const std::vector<float>& v) {
  const int64_t kv = s.kv_cols(), n = static_cast<int64_t>(k.size()) / kv;
  const int64_t first = s.window > 0 ? std::max<int64_t>(0, n - s.window) : 0;
  const int64_t column = int64_t{head / s.group()} * s.head_dim;
  std::vector<double> p(static_cast<size_t>(n)), out(static_cast<size_t>(s.head_dim));
  double top = -1e300, sum = 0;
  for (int64_t i = first; i < n; ++i) {
    for (int d = 0; d < s.head_dim; ++d) {
      p[i] += static_cast<double>(q[head * s.head_dim + d]) * k[i * kv + column + d];
    }
    p[i] /= std::sqrt(static_cast<double>(s.head_dim));
    top = std::max(top, p[i]);
  }
  for (int64_t i = first; i < n; ++i) sum += p[i] = std::exp(p[i] - top);
  for (int64_t i = first; i < n; ++i) {
    for (int d = 0; d < s.head_dim; ++d) out[d] += p[i] / sum * v[i * kv + column + d];
  }
  return out;
}

class AttentionTest : public ::testing::TestWithParam<Case> {};

// The tolerance is for weights of at most one and values of a few times `size`, with a few
// roundings of each.
void ExpectCloseToADoublePrecisionReference(const Case& c, const Tree& t, double size) {
  const Shape& s = c.shape;
  const auto backend = NewBackend(c.set, 2);
  const std::vector<float> y = AttendTree(*backend, c, t);
  const auto cached = [&](const std::vector<float>& committed, const std::vector<float>& rows) {
    return Multiplied(c, Stored(*backend, c.cache, s.kv_cols(), Joined(committed, rows)));
  };
  const std::vector<float> k = cached(t.committed_k, t.k), v = cached(t.committed_v, t.v);
  const std::vector<float> q = Multiplied(c, t.q);
  const double tolerance = size * (RoundsToBf16(c)      ? 6e-3
                                   : MultipliesBytes(c) ? 6e-4
                                   : UsesMatrixUnit(c)  ? 3e-4
                                                        : 2e-5);
  for (int node = 0; node < t.nodes(); ++node) {
    std::vector<int> rows;
    for (int i = 0; i < t.committed; ++i) rows.push_back(i);
    for (int i : t.Path(node)) rows.push_back(t.committed + i);
    const auto attended_k = Gather(k, s.kv_cols(), rows), attended_v = Gather(v, s.kv_cols(), rows);
    for (int h = 0; h < s.heads; ++h) {
      const auto want = NaiveHead(s, h, &q[node * s.q_cols()], attended_k, attended_v);
      for (int d = 0; d < s.head_dim; ++d) {
        ASSERT_NEAR(y[node * s.q_cols() + h * s.head_dim + d], want[d], tolerance)
            << "node " << node << " head " << h;
      }
    }
  }
}

TEST_P(AttentionTest, IsCloseToADoublePrecisionReference) {
  ExpectCloseToADoublePrecisionReference(GetParam(), RandomTree(GetParam().shape, 50, 9, 1), 1);
}

// Values around and below the smallest normal F16, 2^-14, with zeros among them.
TEST_P(AttentionTest, IsCloseToTheReferenceForSmallValues) {
  for (const float size : {0x1p-13f, 0x1p-16f}) {
    Tree t = RandomTree(GetParam().shape, 50, 9, 3);
    for (float& x : t.q) x /= size;
    for (std::vector<float>* all : {&t.k, &t.v, &t.committed_k, &t.committed_v}) {
      for (size_t i = 0; i < all->size(); ++i) (*all)[i] *= i % 7 == 0 ? 0 : size;
    }
    ExpectCloseToADoublePrecisionReference(GetParam(), t, size);
  }
}

// An attention sink, as models have: nearly all weight is on the first position, whose values are
// nearly zero.
TEST_P(AttentionTest, IsCloseToTheReferenceWithAnAttentionSink) {
  const Shape& s = GetParam().shape;
  Tree t = RandomTree(s, 50, 9, 5);
  for (size_t i = 0; i < t.q.size(); i += static_cast<size_t>(s.head_dim)) t.q[i] = 8;
  for (std::vector<float>* keys : {&t.k, &t.committed_k}) {
    for (size_t i = 0; i < keys->size(); i += static_cast<size_t>(s.head_dim)) (*keys)[i] = 0;
  }
  for (int64_t i = 0; i < s.kv_cols(); ++i) {
    if (i % s.head_dim == 0) t.committed_k[static_cast<size_t>(i)] = 6;
    t.committed_v[static_cast<size_t>(i)] *= 0x1p-9f;
  }
  ExpectCloseToADoublePrecisionReference(GetParam(), t, 1);
}

// A node's result has the same bits as when it is scored alone and its ancestors are committed.
TEST_P(AttentionTest, ANodesBitsDoNotDependOnTheTreeAroundIt) {
  const Case& c = GetParam();
  for (uint32_t seed = 2; seed < 6; ++seed) {
    const int committed[] = {0, 15, 64, 157};
    const Tree t = RandomTree(c.shape, committed[seed - 2], seed == 5 ? 128 : 21, seed);
    std::vector<float> want;
    for (int threads = 1; threads <= 4; ++threads) {
      KernelConfig config = c.set.kernels->elsewhere;
      config.prefetches_near = threads % 2 == 0;
      const auto backend = NewBackend(c.set, config, threads);
      const std::vector<float> y = AttendTree(*backend, c, t);
      for (int node = 0; threads == 1 && node < t.nodes(); ++node) {
        const std::vector<float> alone = AttendAlone(*backend, c, t, node);
        want.insert(want.end(), alone.begin(), alone.end());
      }
      for (int node = 0; node < t.nodes(); ++node) {
        const int64_t at = node * c.shape.q_cols();
        ASSERT_TRUE(SameBits(&y[at], &want[at], static_cast<size_t>(c.shape.q_cols())))
            << "seed " << seed << " node " << node << " on " << threads << " threads";
      }
    }
  }
}

// The layout of the cache changes no bit.
TEST_P(AttentionTest, GroupingHeadsChangesNoBit) {
  Case c = GetParam();
  if (c.shape.kv_heads == 1 || c.shape.head_dim % BlockElements(c.cache) != 0) {
    GTEST_SKIP() << "one group either way";
  }
  const auto backend = NewBackend(c.set, 2);
  const Tree t = RandomTree(c.shape, 70, 20, 11);
  const std::vector<float> grouped = AttendTree(*backend, c, t);
  c.grouped = false;
  const std::vector<float> whole = AttendTree(*backend, c, t);
  EXPECT_TRUE(SameBits(grouped.data(), whole.data(), whole.size()));
}

// One call holds a tree, a sequence without rows, a prompt, and single rows at many numbers of
// cached positions.
TEST_P(AttentionTest, SequencesOfOneCallHaveTheBitsTheyHaveAlone) {
  const Case& c = GetParam();
  std::vector<Tree> trees = {RandomTree(c.shape, 100, 21, 2), RandomTree(c.shape, 30, 0, 3),
                             RandomTree(c.shape, 0, 70, 4)};
  for (int i = 0; i < trees.back().nodes(); ++i)
    trees.back().parent[static_cast<size_t>(i)] = i - 1;
  for (const int committed : {0, 1, 63, 64, 65, 128, 200, 3}) {
    trees.push_back(RandomTree(c.shape, committed, 1, static_cast<uint32_t>(committed)));
  }
  std::vector<SequenceInput> inputs;
  std::vector<float> alone;
  const auto one = NewBackend(c.set, 1);
  for (const Tree& t : trees) {
    inputs.push_back(InputOf(t));
    if (t.nodes() == 0) continue;
    const std::vector<float> y = AttendTree(*one, c, t);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  for (int threads = 1; threads <= 4; ++threads) {
    const auto backend = NewBackend(c.set, threads);
    for (const int first : {0, 0, 1}) {  // twice, then without the first tree
      const std::vector<float> want(alone.begin() + first * std::ssize(inputs[0].q), alone.end());
      const std::vector<float> together =
          Attend(*backend, c, {inputs.begin() + first, inputs.end()});
      ASSERT_EQ(together.size(), want.size());
      EXPECT_TRUE(SameBits(together.data(), want.data(), want.size())) << threads << " threads";
    }
  }
}

// Two sequences that share their pages have the results of one sequence alone.
TEST_P(AttentionTest, SequencesThatSharePagesHaveTheResultsOfOneAlone) {
  const Case& c = GetParam();
  const auto backend = NewBackend(c.set, 2);
  const int64_t rows = 3, kv = c.shape.kv_cols();
  const SequenceInput input = InputOf(RandomTree(c.shape, 140, rows, 6));
  const PagedBuffer keys = Cache(*backend, c.cache, kv, c.head_dim(), input.k, 1);
  const PagedBuffer values = Cache(*backend, c.cache, kv, c.head_dim(), input.v, 2);
  const Buffer q = *backend->Allocate(DType::kF32, 2 * rows, c.shape.q_cols());
  const Buffer out = *backend->Allocate(DType::kF32, 2 * rows, c.shape.q_cols());
  std::vector<AttentionSequence> sequences;
  for (const int first : {0, static_cast<int>(rows)}) {
    backend->Upload(input.q.data(), q.tensor.Rows(first, rows));
    sequences.push_back({keys.rows(), values.rows(), &input.visible, first});
  }
  backend->Attention({.q = q.tensor,
                      .out = out.tensor,
                      .sequences = sequences,
                      .head_dim = c.shape.head_dim,
                      .scale = 1.0f / std::sqrt(static_cast<float>(c.shape.head_dim)),
                      .window = c.shape.window});
  const std::vector<float> want = Attend(*backend, c, {input});
  EXPECT_EQ(Values(*backend, out.tensor.Rows(0, rows)), want);
  EXPECT_EQ(Values(*backend, out.tensor.Rows(rows, rows)), want);
}

// There are more rows than a unit holds, more positions than a span holds, and tiles with queries
// of several heads.
TEST_P(AttentionTest, LongContextsAndManyRowsHaveTheBitsOfSingleRows) {
  const Case& c = GetParam();
  const Tree t = RandomTree(c.shape, 300, 40, 12);
  const auto one = NewBackend(c.set, 1);
  const std::vector<float> y = AttendTree(*one, c, t);
  EXPECT_EQ(AttendTree(*NewBackend(c.set, 2), c, t), y);
  for (int node : {0, 5, 15, 16, 17, 31, 39}) {
    const std::vector<float> alone = AttendAlone(*one, c, t, node);
    EXPECT_TRUE(SameBits(&y[node * c.shape.q_cols()], alone.data(), alone.size())) << node;
  }
}

// A prompt is a chain: each row has the bits that it has when it is scored alone.
TEST_P(AttentionTest, APromptHasTheSameBitsInOnePassAndRowByRow) {
  const Case& c = GetParam();
  const auto backend = NewBackend(c.set, 2);
  Tree t = RandomTree(c.shape, 30, 150, 8);
  for (int i = 0; i < t.nodes(); ++i) t.parent[static_cast<size_t>(i)] = i - 1;
  const std::vector<float> whole = AttendTree(*backend, c, t);
  for (int node : {0, 1, 15, 16, 17, 63, 100, 149}) {
    const std::vector<float> alone = AttendAlone(*backend, c, t, node);
    EXPECT_TRUE(SameBits(&whole[node * c.shape.q_cols()], alone.data(), alone.size())) << node;
  }
}

// The rows of a chain are computed over shared positions; a row with infinities or NaN must not
// spoil the rows before it.
TEST_P(AttentionTest, ARowIgnoresNonFiniteValuesAfterIt) {
  const Case& c = GetParam();
  const auto backend = NewBackend(c.set, 2);
  for (const float wrong : {INFINITY, NAN}) {
    Tree t = RandomTree(c.shape, 30, 6, 13);
    for (int i = 0; i < t.nodes(); ++i) t.parent[static_cast<size_t>(i)] = i - 1;
    std::fill(t.v.end() - c.shape.kv_cols(), t.v.end(), wrong);
    const std::vector<float> y = AttendTree(*backend, c, t);
    for (int node = 0; node + 1 < t.nodes(); ++node) {
      const std::vector<float> alone = AttendAlone(*backend, c, t, node);
      ASSERT_TRUE(SameBits(&y[node * c.shape.q_cols()], alone.data(), alone.size())) << node;
      ASSERT_TRUE(std::isfinite(alone[0]));
    }
  }
}

TEST_P(AttentionTest, AttentionRowsIsCloseToADoublePrecisionSoftmax) {
  const Case& c = GetParam();
  const Shape& s = c.shape;
  const auto backend = NewBackend(c.set, 2);
  const int count = 77;
  const auto k = RandomFloats(static_cast<size_t>(count * s.kv_cols()), 9);
  const auto q = RandomFloats(static_cast<size_t>(3 * s.head_dim), 10, 2.0f);
  const PagedBuffer keys = Cache(*backend, c.cache, s.kv_cols(), c.head_dim(), k);
  const std::vector<float> stored = Stored(*backend, c.cache, s.kv_cols(), k);
  const int kv_head[] = {0, s.kv_heads - 1, 0};
  const Buffer query = Filled(*backend, 3, s.head_dim, q);
  const Buffer out = *backend->Allocate(DType::kF32, 3, count);
  backend->AttentionRows(query.tensor, kv_head, keys.rows(), count, 0.125f, out.tensor);
  const std::vector<float> y = Values(*backend, out.tensor);
  for (int i = 0; i < 3; ++i) {
    std::vector<double> p(count);
    double sum = 0;
    for (int j = 0; j < count; ++j) {
      double dot = 0;
      for (int d = 0; d < s.head_dim; ++d) {
        dot += static_cast<double>(q[i * s.head_dim + d]) *
               stored[j * s.kv_cols() + kv_head[i] * s.head_dim + d];
      }
      sum += p[j] = std::exp(0.125 * dot);
    }
    for (int j = 0; j < count; ++j)
      EXPECT_NEAR(y[i * count + j], p[j] / sum, 1e-6) << i << " " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, AttentionTest, ::testing::ValuesIn(AllCases()), CaseName);

// Divides `units` units of `queries` queries among four threads. `last`: last_queries of
// DivideUnits. Preparing keys and values takes as long as four queries. The comments of the cases
// give the work of the busiest thread in queries, uncut -> cut.
std::tuple<int64_t, int, int64_t> Divided(int64_t units, int last = 16, int queries = 16) {
  const UnitDivision d = DivideUnits(units, queries, last, /*few_queries=*/4, /*threads=*/4);
  return {d.uncut, d.pieces, d.pieces_per_thread};
}

TEST(UnitDivision, CutsUnitsThatAreLeftOverWhereThatSavesATenth) {
  EXPECT_EQ(Divided(8), std::tuple(2, 1, 0));        // no unit is left over
  EXPECT_EQ(Divided(1), std::tuple(0, 4, 1));        // 20 -> 8
  EXPECT_EQ(Divided(2), std::tuple(0, 2, 1));        // 20 -> 12; with four pieces of each unit 16
  EXPECT_EQ(Divided(5), std::tuple(1, 4, 1));        // 40 -> 28
  EXPECT_EQ(Divided(1, 3, 3), std::tuple(0, 3, 1));  // 7 -> 5: no piece is empty
  EXPECT_EQ(Divided(3), std::tuple(0, 1, 1));        // 20 -> 24 at least
  EXPECT_EQ(Divided(41), std::tuple(10, 1, 1));      // 220 -> 208: not a tenth
  EXPECT_EQ(Divided(5, 4), std::tuple(1, 1, 1));     // few queries, and threads have other units
}

// The loads of four threads, each of which takes a quarter of the pieces.
std::vector<int64_t> LoadsOf(std::span<const UnitLoad> units, std::span<const UnitPiece> pieces) {
  std::vector<int64_t> loads(4);
  for (int64_t t = 0; t < 4; ++t) {
    for (int64_t i = std::ssize(pieces) * t / 4; i < std::ssize(pieces) * (t + 1) / 4; ++i) {
      const UnitPiece& piece = pieces[static_cast<size_t>(i)];
      const UnitLoad& unit = units[static_cast<size_t>(piece.unit)];
      const int begin = unit.queries * piece.piece / piece.pieces;
      const int end = unit.queries * (piece.piece + 1) / piece.pieces;
      EXPECT_GT(end, begin) << "an empty piece";
      loads[static_cast<size_t>(t)] += (4 + end - begin) * unit.positions;
    }
  }
  return loads;
}

std::vector<UnitPiece> DivideUnequal(std::span<const UnitLoad> units) {
  std::vector<UnitPiece> pieces;
  DivideUnequalUnits(units, /*few_queries=*/4, /*threads=*/4, pieces);
  return pieces;
}

// Many units of different loads are distributed so that threads get about equal work.
TEST(UnequalUnits, ManyAreBalancedByTheirLoads) {
  std::vector<UnitLoad> units;
  for (int i = 0; i < 40; ++i) units.push_back({4, 100 + 37 * i % 1000});
  const std::vector<UnitPiece> pieces = DivideUnequal(units);
  std::vector<int> times_assigned(units.size());
  for (const UnitPiece& piece : pieces) {
    EXPECT_EQ(piece.pieces, 1);
    ++times_assigned[static_cast<size_t>(piece.unit)];
  }
  EXPECT_EQ(times_assigned, std::vector<int>(units.size(), 1));
  const std::vector<int64_t> loads = LoadsOf(units, pieces);
  EXPECT_LT(*std::ranges::max_element(loads), 1.05 * *std::ranges::min_element(loads));
}

// A unit that would occupy one thread for too long is cut.
TEST(UnequalUnits, ALargeUnitIsCut) {
  const std::vector<UnitLoad> units = {{4, 50}, {48, 4000}, {4, 60}};
  const std::vector<UnitPiece> pieces = DivideUnequal(units);
  std::vector<std::vector<int>> pieces_of(units.size());
  for (const UnitPiece& piece : pieces) {
    pieces_of[static_cast<size_t>(piece.unit)].push_back(piece.piece);
    EXPECT_EQ(piece.pieces, piece.unit == 1 ? 4 : 1);
  }
  EXPECT_EQ(pieces_of[0], std::vector<int>{0});
  EXPECT_EQ(pieces_of[1], (std::vector<int>{0, 1, 2, 3}));
  const std::vector<int64_t> loads = LoadsOf(units, pieces);
  EXPECT_LT(*std::ranges::max_element(loads), 52 * 4000 / 2);
}

// No piece has less than one query.
TEST(UnequalUnits, AUnitOfOneQueryIsNotCut) {
  for (const UnitPiece& piece : DivideUnequal(std::vector<UnitLoad>{{1, 5000}, {1, 10}})) {
    EXPECT_EQ(piece.pieces, 1);
  }
}

}  // namespace
}  // namespace foretoken
