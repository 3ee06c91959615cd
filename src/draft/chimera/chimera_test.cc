// Checks Chimera's n-grams, their cache, their states against C-17 computed in plain loops, and
// which files are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "backend/strict_backend_testing.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "draft/chimera/chimera_testing.h"
#include "draft/chimera/ngram_counts.h"
#include "draft/plain_layer_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// At the beginning of a text, the last token is repeated until there are n tokens (C-2).
TEST(NgramTest, RepeatsTheLastTokenAtTheBeginning) {
  const auto at = [](int n, Pos position) {
    return NgramAt(n, position, [](Pos p) { return 10 + p; });
  };
  EXPECT_THAT(at(3, 0), ElementsAre(10, 10, 10, 0, 0));
  EXPECT_THAT(at(3, 1), ElementsAre(10, 11, 11, 0, 0));
  EXPECT_THAT(at(3, 2), ElementsAre(10, 11, 12, 0, 0));
  EXPECT_THAT(at(3, 7), ElementsAre(15, 16, 17, 0, 0));
  EXPECT_THAT(at(1, 0), ElementsAre(10, 0, 0, 0, 0));
  EXPECT_THAT(at(5, 2), ElementsAre(10, 11, 12, 12, 12));
  EXPECT_THAT(at(5, 5), ElementsAre(11, 12, 13, 14, 15));
}

class NgramCacheTest : public testing::Test {
 protected:
  // Stores a row of two values, the first of which is the token, for the n-gram {token}.
  void Keep(NgramCache& cache, Token token) {
    const float values[] = {static_cast<float>(token), -1.5f};
    backend_->Upload(values, row_.tensor);
    EXPECT_TRUE(cache.Keep({token}, row_.tensor).ok());
  }
  // The first value stored for the n-gram {token}; 0 if there is none.
  float StoredValue(NgramCache& cache, Token token) {
    float values[] = {0, 0};
    if (*cache.Find({token}, row_.tensor)) backend_->Download(row_.tensor, values);
    return values[0];
  }

  std::unique_ptr<Backend> backend_ = NewTestedBackend({.threads = 1});
  Buffer row_ = *backend_->Allocate(DType::kF32, 1, 2);
  TemporaryDirectory folder_;
};

// A full cache evicts the state that was used least recently.
TEST_F(NgramCacheTest, EvictsTheLeastRecentlyUsed) {
  NgramCache cache(*backend_, 2, 3, nullptr);
  for (const Token token : {1, 2, 3}) Keep(cache, token);
  EXPECT_EQ(StoredValue(cache, 1), 1);  // used again: 2 is now the least recently used
  Keep(cache, 4);
  EXPECT_EQ(StoredValue(cache, 2), 0);
  EXPECT_EQ(StoredValue(cache, 1), 1);
  EXPECT_EQ(StoredValue(cache, 3), 3);
  EXPECT_EQ(StoredValue(cache, 4), 4);
  EXPECT_EQ(cache.lookups().total, 5);
  EXPECT_EQ(cache.lookups().from_memory, 4);
}

TEST_F(NgramCacheTest, StoresNothingWithoutEntries) {
  NgramCache cache(*backend_, 2, 0, nullptr);
  Keep(cache, 1);
  EXPECT_EQ(StoredValue(cache, 1), 0);
}

TEST_F(NgramCacheTest, GrowsBeyondOneSlab) {
  NgramCache cache(*backend_, 2, 600, nullptr);
  for (Token token = 1; token <= 700; ++token) Keep(cache, token);
  for (Token token = 1; token <= 700; ++token) {
    ASSERT_EQ(StoredValue(cache, token), token <= 100 ? 0 : token);
  }
}

// Evicted states are found again in the spill file.
TEST_F(NgramCacheTest, FindsEvictedStatesInTheSpillFile) {
  const std::string path = folder_ / "spilt";
  NgramCache cache(*backend_, 2, 2, *SpillFile::Create(path, 2));
  for (const Token token : {1, 2, 3, 4, 5}) Keep(cache, token);
  for (const Token token : {1, 2, 3, 4, 5, 1}) EXPECT_EQ(StoredValue(cache, token), token);
  EXPECT_EQ(StoredValue(cache, 6), 0);
  EXPECT_EQ(cache.lookups().from_file, 6);  // each had been evicted by the time it was looked up
  EXPECT_FALSE(MappedFile::Open(path).ok()) << "the spill file is still in its folder";
}

// A spill file must be a new file, so that no other file is overwritten.
TEST_F(NgramCacheTest, RefusesAnExistingSpillFile) {
  const std::string path = folder_ / "precious";
  ASSERT_TRUE(WriteFileAtomically(path, "x").ok());
  EXPECT_THAT(SpillFile::Create(path, 2).error().message, HasSubstr("expected a new file"));
}

TEST(NgramCountsTest, FilesListTheMostFrequentFirst) {
  const TemporaryDirectory folder;
  const std::vector<std::vector<Token>> documents = {{1, 2, 1, 2, 1, 2}, {3}};
  const std::string text = CountNgrams(documents, 2, 3);
  EXPECT_EQ(text, "3 1 2\n2 2 1\n1 1 1\n");  // 3 3, also counted once, is cut off
  const std::string path = folder / "counts";
  ASSERT_TRUE(WriteFileAtomically(path, text).ok());
  const auto read = ReadNgramCounts(path, 2, 4, 2);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(*read, ElementsAre(Ngram{1, 2}, Ngram{2, 1}));
  const auto complaint = [&](const char* content) {
    EXPECT_TRUE(WriteFileAtomically(path, content).ok());
    const auto result = ReadNgramCounts(path, 2, 4, 9);
    return result.ok() ? "read" : result.error().message;
  };
  EXPECT_EQ(complaint(""), "read");
  for (const char* wrong : {"3 1\n", "1 1 2\n3 1 4\n", "3 1 -2", "x 1 2", "3 1 2 0", "3 1 2x"}) {
    EXPECT_THAT(complaint(wrong), HasSubstr("expected a count and the ids of 2 tokens below 4"))
        << wrong;
  }
  EXPECT_THAT(complaint("1 1 2\n3 1 4\n"), HasSubstr("line 2"));
}

class ChimeraTest : public TrainedDrafterTest {
 protected:
  ChimeraTest() : TrainedDrafterTest("chimera") {}
};

// The state is G = W2 (u + SiLU(W1 u + b1)), with u the concatenated embeddings (C-17).
TEST_F(ChimeraTest, NgramStatesAreThoseOfThePaper) {
  DraftBuilder draft = RandomChimera(Target(), {}, 3);
  draft.Write(ChimeraInfo(Target(), {}), path_);
  const auto net = ChimeraNet::Load(*DraftFile::Open(path_), *model_, {});
  ASSERT_TRUE(net.ok()) << net.error().message;
  const Ngram ngrams[] = {{4, 17, 2}, {9, 9, 9}, {4, 17, 2}};
  const Buffer out = *backend_->Allocate(DType::kF32, 3, config_.hidden);
  EXPECT_TRUE((*net)->ngrams().Encode(ngrams, out.tensor).ok());
  const auto hidden = static_cast<size_t>(config_.hidden);
  std::vector<float> states(3 * hidden);
  backend_->Download(out.tensor, states.data());
  const std::vector<float> table =
      MatrixValues(*weights_, *backend_, "token_embd.weight", config_.vocab, config_.hidden);
  for (size_t r = 0; r < 3; ++r) {
    Row u;
    for (size_t i = 0; i < 3; ++i) {
      const float* row = table.data() + static_cast<size_t>(ngrams[r][i]) * hidden;
      u.insert(u.end(), row, row + hidden);
    }
    const Row gate = Times(draft.values("ngram.res.weight"), u);
    for (size_t i = 0; i < u.size(); ++i) {
      const double x = gate[i] + draft.values("ngram.res.bias")[i];
      u[i] += x / (1 + std::exp(-x));
    }
    const Row expected = Times(draft.values("ngram.output.weight"), u);
    for (size_t i = 0; i < hidden; ++i) ASSERT_NEAR(states[r * hidden + i], expected[i], 1e-5);
  }
  EXPECT_EQ((*net)->ngrams().lookups().total, 3);
}

// The cache is filled with the most frequent n-grams of the file `warm`, as many as fit.
TEST_F(ChimeraTest, PreloadedNgramsAreCached) {
  RandomChimera(Target(), {}, 3).Write(ChimeraInfo(Target(), {}), path_);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "counts", "9 4 17 2\n3 1 1 1\n1 5 6 7\n").ok());
  EXPECT_TRUE(Open({{"warm", folder_ / "counts"}, {"cache_entries", 2}}).ok());
  const auto net = ChimeraNet::Load(*DraftFile::Open(path_), *model_, {.entries = 2});
  ASSERT_TRUE(net.ok());
  NgramEncoder& encoder = (*net)->ngrams();
  EXPECT_TRUE(encoder.Preload(*ReadNgramCounts(folder_ / "counts", 3, config_.vocab, 2)).ok());
  const Buffer out = *backend_->Allocate(DType::kF32, 1, config_.hidden);
  for (const Ngram& ngram : {Ngram{4, 17, 2}, {1, 1, 1}, {5, 6, 7}}) {
    EXPECT_TRUE(encoder.Encode(std::span(&ngram, 1), out.tensor).ok());
  }
  EXPECT_EQ(encoder.lookups().from_memory, 2);
}

// Files with metadata or tensors that do not fit, and wrong options, are errors.
TEST_F(ChimeraTest, RefusesDraftsAndOptionsThatDoNotFit) {
  const auto complaint = [&](const ChimeraShape& shape, const std::function<void(DraftInfo&)>& set,
                             const Json& options = Json::object()) {
    DraftInfo info = ChimeraInfo(Target(), shape);
    set(info);
    RandomChimera(Target(), shape, 3).Write(info, path_);
    const auto drafter = Open(options);
    return drafter.ok() ? "built" : drafter.error().message;
  };
  const auto unchanged = [](DraftInfo&) {};
  EXPECT_EQ(complaint({}, unchanged), "built");
  EXPECT_EQ(complaint({2, 5, true}, unchanged), "built");
  EXPECT_THAT(complaint({}, [](DraftInfo& i) { i.ngram = 0; }),
              HasSubstr("foretoken.draft.ngram is 0, expected 1 to 5"));
  EXPECT_THAT(complaint({}, [](DraftInfo& i) { i.ngram = 2; }), HasSubstr("'ngram.res.weight'"));
  EXPECT_THAT(complaint({}, [](DraftInfo& i) { i.output_heads = 0; }),
              HasSubstr("output_heads is 0"));
  EXPECT_THAT(complaint({}, [](DraftInfo& i) { i.output_heads = 5; }),
              HasSubstr("'head.4.output.weight' is missing"));
  EXPECT_THAT(complaint({}, [](DraftInfo& i) { i.shared.emplace_back(kSharedHead); }),
              HasSubstr("'head.0.proj.weight' is missing"));
  EXPECT_THAT(complaint({}, [](DraftInfo& i) { i.target.hidden = 64; }),
              HasSubstr("made for another target"));
  EXPECT_THAT(complaint({}, unchanged, {{"cache_entries", -1}}), HasSubstr("cache_entries"));
  EXPECT_THAT(complaint({}, unchanged, {{"warm", folder_ / "missing"}}), HasSubstr("missing"));
}

}  // namespace
}  // namespace foretoken
