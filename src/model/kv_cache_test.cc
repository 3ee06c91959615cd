#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include <climits>
#include <set>
#include <string>

#include "backend/strict_backend_testing.h"
#include "model/scoring_for_test.h"

namespace foretoken {
namespace {

class KvCacheTest : public ::testing::TestWithParam<DType> {
 protected:
  static constexpr int kLayers = 2, kHeads = 2, kCols = 64, kCapacity = 40;
  KvCacheTest()
      : backend_(NewTestedBackend({.threads = 1})),
        cache_(*backend_, GetParam(), kLayers, kHeads, kCols / kHeads, kCapacity) {}

  // Every value of a row is its label, which every cache type stores exactly.
  void Label(int row, int label) {
    const std::vector<float> values(kCols, static_cast<float>(label));
    const Buffer buffer = *backend_->Allocate(DType::kF32, 1, kCols);
    backend_->Upload(values.data(), buffer.tensor);
    for (int layer = 0; layer < kLayers; ++layer) {
      backend_->StoreRows(buffer.tensor, cache_.Keys(layer).Rows(row, 1));
      backend_->StoreRows(buffer.tensor, cache_.Values(layer).Rows(row, 1));
    }
  }

  void Append(std::span<const Node> parents, std::span<const int> labels) {
    const int first = cache_.length() + *cache_.Append(parents);
    for (size_t i = 0; i < labels.size(); ++i) Label(first + static_cast<int>(i), labels[i]);
  }

  std::vector<int> Labels(Tensor rows) {
    std::vector<float> values(cache_.length() * kCols);
    if (!values.empty()) backend_->Download(rows.Rows(0, cache_.length()), values.data());
    std::vector<int> labels;
    for (int row = 0; row < cache_.length(); ++row) {
      labels.push_back(static_cast<int>(std::lround(values[row * kCols + row % kCols])));
    }
    return labels;
  }

  void ExpectLabels(const std::vector<int>& expected) {
    for (int layer = 0; layer < kLayers; ++layer) {
      EXPECT_EQ(Labels(cache_.Keys(layer)), expected);
      EXPECT_EQ(Labels(cache_.Values(layer)), expected);
    }
  }

  std::unique_ptr<Backend> backend_;
  KvCache cache_;
};

std::vector<Node> PathTo(Node node, std::span<const Node> parents) {
  std::vector<Node> path;
  for (; node != kNoNode; node = parents[node]) path.insert(path.begin(), node);
  return path;
}

TEST_P(KvCacheTest, CommitKeepsExactlyThePath) {
  std::vector<int> expected;
  for (uint64_t step = 0; cache_.length() + 9 <= kCapacity; ++step) {
    const std::vector<Node> parents = RandomTree(step, 9);
    std::vector<int> labels(parents.size());
    for (int i = 0; i < 9; ++i) labels[i] = static_cast<int>(step) * 9 % 100 + i;
    Append(parents, labels);
    EXPECT_EQ(cache_.provisional(), 9);
    const std::vector<Node> path = PathTo(static_cast<Node>(Mix(step) % 9), parents);
    for (const Node n : path) expected.push_back(labels[n]);
    cache_.Commit(path);
    EXPECT_EQ(cache_.provisional(), 0);
    EXPECT_EQ(cache_.length(), static_cast<int>(expected.size()));
    ExpectLabels(expected);
  }
}

TEST_P(KvCacheTest, RollbackAndTruncateForget) {
  Append(ChainParents(5), std::array{1, 2, 3, 4, 5});
  cache_.Commit(Range(5));
  Append(ChainParents(3), std::array{6, 7, 8});
  cache_.Commit({});
  ExpectLabels({1, 2, 3, 4, 5});
  Append(ChainParents(2), std::array{9, 10});
  cache_.Truncate(2);
  EXPECT_EQ(cache_.provisional(), 0);
  Append(ChainParents(1), std::array{11});
  cache_.Commit(Range(1));
  ExpectLabels({1, 2, 11});
}

TEST_P(KvCacheTest, BytesCountKeysAndValuesOfEveryLayer) {
  EXPECT_EQ(cache_.bytes(), 0u) << "what is not used is not reserved";
  ASSERT_TRUE(cache_.Reserve(kCapacity).ok());
  EXPECT_EQ(cache_.capacity(), 64) << "whole grains";
  EXPECT_EQ(cache_.bytes(), 2 * kLayers * 64 * RowBytes(GetParam(), kCols));
}

TEST_P(KvCacheTest, GrowingKeepsEveryRow) {
  std::vector<int> labels;
  int capacity = 0, growths = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<int> fresh(static_cast<size_t>(1 + round % 5 * 7));
    for (int& label : fresh) label = static_cast<int>(labels.size() * 13 % 100) - 50;
    Append(ChainParents(static_cast<int>(fresh.size())), fresh);
    cache_.Commit(Range(static_cast<int>(fresh.size())));
    labels.insert(labels.end(), fresh.begin(), fresh.end());
    growths += cache_.capacity() != capacity ? 1 : 0;
    capacity = cache_.capacity();
    ExpectLabels(labels);
  }
  EXPECT_GT(capacity, 10 * kCapacity) << "beyond what is usual";
  EXPECT_LT(growths, 6) << "a few steps";
}

TEST_P(KvCacheTest, MoreThanThereIsIsAnError) {
  Append(ChainParents(3), std::array{1, 2, 3});
  cache_.Commit(Range(3));
  const Status status = cache_.Reserve(INT_MAX);
  if (!status.ok()) {  // a system may promise anything
    EXPECT_NE(status.error().message.find("-c"), std::string::npos) << status.error().message;
  }
  ExpectLabels({1, 2, 3});
}

INSTANTIATE_TEST_SUITE_P(Types, KvCacheTest,
                         ::testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0),
                         [](const auto& param) { return std::string(DTypeName(param.param)); });

class VisibilityTest : public ::testing::Test {
 protected:
  VisibilityTest()
      : backend_(NewTestedBackend({.threads = 1})), cache_(*backend_, DType::kF32, 1, 1, 8, 100) {}

  // The provisional rows that row `r` of `v` sees, in its order.
  static std::vector<int> Seen(const Visibility& v, int r) {
    std::vector<int> seen = Range(v.run[r]);
    seen.insert(seen.end(), v.chain.begin() + v.begin[r], v.chain.begin() + v.begin[r + 1]);
    return seen;
  }

  std::unique_ptr<Backend> backend_;
  KvCache cache_;
};

TEST_F(VisibilityTest, SmallTree) {  // root -> {a, b}, a -> {c}
  ASSERT_TRUE(cache_.Append(std::array{kNoNode, 0, 0, 1}).ok());
  const Visibility v = cache_.VisibleFrom(0, 4);
  EXPECT_EQ(Seen(v, 0), (std::vector{0}));
  EXPECT_EQ(Seen(v, 1), (std::vector{0, 1}));
  EXPECT_EQ(Seen(v, 2), (std::vector{0, 2}));
  EXPECT_EQ(Seen(v, 3), (std::vector{0, 1, 3}));
}

TEST_F(VisibilityTest, ChainIsOneRun) {
  ASSERT_TRUE(cache_.Append(ChainParents(20)).ok());
  const Visibility v = cache_.VisibleFrom(0, 20);
  EXPECT_TRUE(v.chain.empty());
  for (int r = 0; r < 20; ++r) EXPECT_EQ(v.run[r], r + 1);
}

TEST_F(VisibilityTest, MatchesAncestorsOfRandomForests) {
  Visibility v;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const int count = 1 + static_cast<int>(Mix(seed) % 50);
    std::vector<Node> parents = RandomTree(seed, count);
    for (int i = 1; i < count; ++i) {  // several children of the committed sequence
      if (Mix(seed * 1000 + i) % 10 == 0) parents[i] = kNoNode;
    }
    const int split = count / 3;
    ASSERT_TRUE(cache_.Append(std::span(parents).first(split)).ok());
    ASSERT_TRUE(cache_.Append(std::span(parents).subspan(split)).ok());
    const int first = static_cast<int>(seed % count);
    cache_.VisibleFrom(first, count - first, v);
    ASSERT_EQ(v.rows(), count - first);
    EXPECT_EQ(v.committed, cache_.length());
    for (int r = 0; r < v.rows(); ++r) {
      const std::vector<Node> ancestors = PathTo(first + r, parents);
      EXPECT_EQ(Seen(v, r), ancestors) << "seed " << seed << " row " << first + r;
      EXPECT_EQ(v.count(r), cache_.length() + static_cast<int>(ancestors.size()));
    }
    cache_.Commit(PathTo(0, parents));
    if (cache_.length() > 40) cache_.Truncate(3);
  }
}

using KvCacheDeathTest = VisibilityTest;

TEST_F(KvCacheDeathTest, RefusesBrokenPromises) {
  EXPECT_DEATH((void)cache_.Append(std::array{0}), "check failed");  // its own parent
  ASSERT_TRUE(cache_.Append(std::array{kNoNode, 0, 0}).ok());
  EXPECT_DEATH(cache_.Commit(std::array{0, 1, 2}), "check failed");  // siblings
  EXPECT_DEATH(cache_.Truncate(1), "check failed");                  // longer than the sequence
}

TEST_F(VisibilityTest, MoreRowsThanUsual) {
  ASSERT_TRUE(cache_.Append(ChainParents(101)).ok());
  EXPECT_GE(cache_.capacity(), 101);
}

}  // namespace
}  // namespace foretoken
