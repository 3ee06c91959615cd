// Tests of KvCache: commits, forks, shared pages, and the rows that a row attends to.
#include "model/kv_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "backend/strict_backend_testing.h"
#include "model/scoring_for_test.h"

namespace foretoken {
namespace {

constexpr int kLayers = 2, kHeads = 2, kCols = 64;

std::shared_ptr<PagePool> PoolOf(Backend& backend, DType type) {
  return PagePool::Create(
      backend, {.type = type, .layers = kLayers, .kv_heads = kHeads, .head_dim = kCols / kHeads});
}

class KvCacheTest : public ::testing::TestWithParam<DType> {
 protected:
  KvCacheTest()
      : backend_(NewTestedBackend({.threads = 1})),
        pool_(PoolOf(*backend_, GetParam())),
        cache_(pool_) {}

  size_t page_bytes() const { return 2 * kLayers * kPageRows * RowBytes(GetParam(), kCols); }

  // Every value of a row is its label, which every cache type stores exactly.
  void Label(const KvCache& cache, int row, int label) {
    const std::vector<float> values(kCols, static_cast<float>(label));
    const Buffer buffer = *backend_->Allocate(DType::kF32, 1, kCols);
    backend_->Upload(values.data(), buffer.tensor);
    for (int layer = 0; layer < kLayers; ++layer) {
      const RowRun runs[] = {{.rows = cache.Keys(layer), .to = row, .count = 1},
                             {.rows = cache.Values(layer), .to = row, .count = 1}};
      backend_->StoreRows(buffer.tensor, runs);
    }
  }

  void Append(KvCache& cache, std::span<const Node> parents, std::span<const int> labels) {
    const int first = cache.length() + *cache.Append(parents);
    for (size_t i = 0; i < labels.size(); ++i) {
      Label(cache, first + static_cast<int>(i), labels[i]);
    }
  }
  void Append(std::span<const Node> parents, std::span<const int> labels) {
    Append(cache_, parents, labels);
  }
  // Commits rows with these labels.
  void Write(KvCache& cache, std::span<const int> labels) {
    const auto count = static_cast<int>(labels.size());
    Append(cache, ChainParents(count), labels);
    cache.Commit(Range(count));
  }

  std::vector<int> Labels(const KvCache& cache, const PagedRows& rows) {
    std::vector<float> values(cache.length() * kCols);
    if (!values.empty()) backend_->Download(rows, 0, cache.length(), values.data());
    std::vector<int> labels;
    for (int row = 0; row < cache.length(); ++row) {
      labels.push_back(static_cast<int>(std::lround(values[row * kCols + row % kCols])));
    }
    return labels;
  }

  void ExpectLabels(const KvCache& cache, const std::vector<int>& expected) {
    for (int layer = 0; layer < kLayers; ++layer) {
      EXPECT_EQ(Labels(cache, cache.Keys(layer)), expected);
      EXPECT_EQ(Labels(cache, cache.Values(layer)), expected);
    }
  }
  void ExpectLabels(const std::vector<int>& expected) { ExpectLabels(cache_, expected); }

  std::unique_ptr<Backend> backend_;
  std::shared_ptr<PagePool> pool_;
  KvCache cache_;
};

// Labels for rows [from, to), which every cache type stores exactly.
std::vector<int> Numbers(int from, int to) {
  std::vector<int> labels;
  for (int i = from; i < to; ++i) labels.push_back(i % 100);
  return labels;
}

std::vector<int> Joined(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Node> PathTo(Node node, std::span<const Node> parents) {
  std::vector<Node> path;
  for (; node != kNoNode; node = parents[node]) path.insert(path.begin(), node);
  return path;
}

TEST_P(KvCacheTest, CommitKeepsExactlyThePath) {
  std::vector<int> expected;
  for (uint64_t step = 0; cache_.length() <= 150; ++step) {
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
  EXPECT_EQ(pool_->page_bytes(), page_bytes());
  ASSERT_TRUE(cache_.Reserve(65).ok());
  EXPECT_EQ(cache_.capacity(), 128) << "whole pages";
  EXPECT_EQ(cache_.bytes(), 2 * page_bytes());
  EXPECT_EQ(cache_.own_bytes(), 2 * page_bytes());
  EXPECT_EQ(pool_->bytes_in_use(), static_cast<int64_t>(2 * page_bytes()));
  EXPECT_GE(pool_->bytes_held(), pool_->bytes_in_use());
}

TEST_P(KvCacheTest, GrowingKeepsEveryRow) {
  std::vector<int> labels;
  for (int round = 0; round < 60; ++round) {
    std::vector<int> fresh(static_cast<size_t>(1 + round % 5 * 7));
    for (int& label : fresh) label = static_cast<int>(labels.size() * 13 % 100) - 50;
    Write(cache_, fresh);
    labels.insert(labels.end(), fresh.begin(), fresh.end());
    ExpectLabels(labels);
    EXPECT_LT(cache_.capacity(), cache_.length() + kPageRows) << "no more than is used";
  }
}

TEST_P(KvCacheTest, ForgottenPagesAreTakenAgain) {
  Write(cache_, Numbers(0, 200));
  const int64_t held = pool_->bytes_held();
  for (int round = 0; round < 20; ++round) {
    cache_.Truncate(70);
    EXPECT_EQ(cache_.capacity(), 128);
    Write(cache_, Numbers(70, 200));
  }
  ExpectLabels(Numbers(0, 200));
  cache_.Truncate(100);
  KvCache other(pool_);
  Write(other, Numbers(0, 60));
  EXPECT_EQ(pool_->bytes_held(), held);
  EXPECT_EQ(pool_->bytes_in_use(), static_cast<int64_t>(cache_.bytes() + other.bytes()));
}

// A fork shares full pages with its origin; later rows of each do not affect the other.
TEST_P(KvCacheTest, ForksShareWholePagesAndGoTheirOwnWay) {
  Write(cache_, Numbers(0, 150));
  for (const int length : {0, 1, 63, 64, 65, 128, 150}) {
    const auto fork = *cache_.Fork(length);
    EXPECT_EQ(fork->length(), length);
    ExpectLabels(*fork, Numbers(0, length));
    EXPECT_EQ(fork->bytes(), static_cast<size_t>((length + 63) / 64) * page_bytes());
    EXPECT_EQ(fork->own_bytes(), length % 64 == 0 ? 0 : page_bytes()) << length;
    Write(*fork, Numbers(500, 580));
    Write(cache_, Numbers(150, 152));
    ExpectLabels(*fork, Joined(Numbers(0, length), Numbers(500, 580)));
    ExpectLabels(Numbers(0, 152));
    cache_.Truncate(150);
  }
  EXPECT_EQ(cache_.own_bytes(), cache_.bytes()) << "nobody holds the pages of forks that are gone";
}

// The bytes_share of all holders of a page add up to the page.
TEST_P(KvCacheTest, TheSharesOfAPageAddUpToIt) {
  Write(cache_, Numbers(0, 150));
  EXPECT_EQ(cache_.bytes_share(), 3 * page_bytes());
  const auto fork = *cache_.Fork(140);
  EXPECT_EQ(fork->bytes_share(), 2 * page_bytes()) << "two halves and a page of its own";
  EXPECT_EQ(cache_.bytes_share(), 2 * page_bytes());
  EXPECT_EQ(static_cast<int64_t>(cache_.bytes_share() + fork->bytes_share()),
            pool_->bytes_in_use());
  const KvCache* both[] = {&cache_, fork.get()};
  EXPECT_EQ(KvCache::BytesTogether(both), 4 * page_bytes());
  EXPECT_EQ(KvCache::BytesTogether(std::span(both).first(1)), 3 * page_bytes());
  EXPECT_EQ(KvCache::BytesTogether({}), 0u);
}

TEST_P(KvCacheTest, AForkKeepsWhatItsOriginForgets) {
  auto origin = std::make_unique<KvCache>(pool_);
  Write(*origin, Numbers(0, 150));
  const auto fork = *origin->Fork(140);
  origin.reset();
  KvCache other(pool_);
  Write(other, Numbers(700, 900));  // in the pages that the origin gave back
  ExpectLabels(*fork, Numbers(0, 140));
  EXPECT_EQ(fork->own_bytes(), fork->bytes());
}

// A cache that is truncated within a shared page writes to a copy of it.
TEST_P(KvCacheTest, WritersLeaveSharedPagesAlone) {
  Write(cache_, Numbers(0, 150));
  const auto second = *cache_.Fork(128);
  for (const bool chain : {true, false}) {
    const auto fork = *second->Fork(128);
    fork->Truncate(100);
    ExpectLabels(*fork, Numbers(0, 100));
    EXPECT_EQ(fork->own_bytes(), 0u);
    if (chain) {
      Write(*fork, Numbers(300, 330));
      ExpectLabels(*fork, Joined(Numbers(0, 100), Numbers(300, 330)));
    } else {  // a path whose rows move down
      const std::vector<Node> parents = {kNoNode, kNoNode, 1, 1, 3};
      Append(*fork, parents, std::array{1, 2, 3, 4, 5});
      fork->Commit(std::array{1, 3, 4});
      ExpectLabels(*fork, Joined(Numbers(0, 100), {2, 4, 5}));
    }
    ExpectLabels(Numbers(0, 150));
    ExpectLabels(*second, Numbers(0, 128));
  }
  cache_.Truncate(10);  // the origin writes to a copy as well
  Write(cache_, Numbers(400, 420));
  ExpectLabels(Joined(Numbers(0, 10), Numbers(400, 420)));
  ExpectLabels(*second, Numbers(0, 128));
}

// A cache that needs more pages than its pool's limit reports an error and stays intact.
TEST_P(KvCacheTest, BeyondTheLimitOfItsPoolIsAnError) {
  pool_->set_limit(static_cast<int64_t>(3 * page_bytes()));
  EXPECT_EQ(pool_->bytes_left(), pool_->limit());
  Write(cache_, Numbers(0, 120));
  const auto fork = *cache_.Fork(64);
  EXPECT_EQ(pool_->bytes_left(), static_cast<int64_t>(page_bytes()));
  const auto refused = [&](const Status& status) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("in use"), std::string::npos) << status.error().message;
  };
  refused(cache_.Reserve(300));
  EXPECT_EQ(cache_.capacity(), 128) << "what was taken in vain is given back";
  ExpectLabels(Numbers(0, 120));
  Write(*fork, Numbers(64, 128));  // takes the last page
  const Result<int> appended = cache_.Append(ChainParents(9));
  refused(appended.ok() ? Status() : Status(appended.error()));
  EXPECT_EQ(cache_.provisional(), 0);
  const auto another = fork->Fork(100);
  refused(another.ok() ? Status() : Status(another.error()));
  fork->Truncate(20);  // returns a page, which then holds the copy of the shared one
  Write(*fork, Numbers(20, 30));
  fork->Truncate(0);
  Write(cache_, Numbers(120, 129));
  ExpectLabels(Numbers(0, 129));
  EXPECT_EQ(pool_->bytes_held(), pool_->limit());
}

// A pool lives as long as its caches.
TEST_P(KvCacheTest, CachesKeepTheirPool) {
  auto cache = std::make_unique<KvCache>(PoolOf(*backend_, GetParam()));
  Write(*cache, Numbers(0, 70));
  const auto fork = *cache->Fork(66);
  cache.reset();
  Write(*fork, Numbers(66, 200));
  ExpectLabels(*fork, Numbers(0, 200));
}

INSTANTIATE_TEST_SUITE_P(Types, KvCacheTest,
                         ::testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0),
                         [](const auto& param) { return std::string(DTypeName(param.param)); });

class VisibilityTest : public ::testing::Test {
 protected:
  VisibilityTest()
      : backend_(NewTestedBackend({.threads = 1})),
        cache_(PagePool::Create(*backend_, {.layers = 1, .kv_heads = 1, .head_dim = 8})) {}

  // The provisional rows that row `r` of `v` attends to, in order.
  static std::vector<int> Seen(const Visibility& v, int r) {
    std::vector<int> seen = Range(v.run[r]);
    seen.insert(seen.end(), v.chain.begin() + v.begin[r], v.chain.begin() + v.begin[r + 1]);
    return seen;
  }

  std::unique_ptr<Backend> backend_;
  KvCache cache_;
};

TEST_F(VisibilityTest, ARowSeesItsAncestorsAndItself) {  // root -> {a, b}, a -> {c}
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

// Arguments that break the contract of KvCache end the process.
TEST_F(KvCacheDeathTest, ABrokenContractEndsTheProcess) {
  EXPECT_DEATH((void)cache_.Append(std::array{0}), "check failed");  // its own parent
  ASSERT_TRUE(cache_.Append(std::array{kNoNode, 0, 0}).ok());
  EXPECT_DEATH(cache_.Commit(std::array{0, 1, 2}), "check failed");  // siblings
  EXPECT_DEATH(cache_.Truncate(1), "check failed");                  // longer than the sequence
}

}  // namespace
}  // namespace foretoken
