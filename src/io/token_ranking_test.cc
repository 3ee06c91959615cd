#include "io/token_ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "io/model_files_testing.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

RankingFile Small() {
  return {{.tokens = {4, 0, 2, 7, 1}, .coverage = {0.5f, 0.75f, 1.0f}, .step = 2}, 8, 99};
}

TEST(TokenRanking, CoverageIsInterpolatedBetweenSteps) {
  const TokenRanking ranking = Small().ranking;
  EXPECT_EQ(ranking.Coverage(0), 0.0f);
  EXPECT_EQ(ranking.Coverage(1), 0.25f);
  EXPECT_EQ(ranking.Coverage(2), 0.5f);
  EXPECT_EQ(ranking.Coverage(3), 0.625f);
  EXPECT_EQ(ranking.Coverage(4), 0.75f);
  EXPECT_EQ(ranking.Coverage(5), 1.0f) << "the last step has one token";
}

TEST(TokenRanking, FirstKeepsTheCoverageOfItsTokens) {
  const TokenRanking ranking = Small().ranking;
  EXPECT_EQ(ranking.First(9), ranking);
  const TokenRanking first = ranking.First(3);
  EXPECT_THAT(first.tokens, testing::ElementsAre(4, 0, 2));
  EXPECT_THAT(first.coverage, testing::ElementsAre(0.5f, 0.625f));
  EXPECT_TRUE(CheckRanking(first, 8, "first").ok());
  EXPECT_THAT(ranking.First(2).coverage, testing::ElementsAre(0.5f));
}

class RankingFileTest : public testing::Test {
 protected:
  std::string Complaint(const std::string& text) {
    std::ofstream(path_) << text;
    const auto read = ReadRanking(path_);
    return read.ok() ? "read" : read.error().message;
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "target.ranks.json";
};

TEST_F(RankingFileTest, WhatIsWrittenComesBack) {
  std::ofstream(path_) << RankingText(Small());
  const auto read = ReadRanking(path_);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->ranking, Small().ranking);
  EXPECT_EQ(read->vocab, 8);
  EXPECT_EQ(read->vocabulary, 99u);
}

TEST_F(RankingFileTest, WhatDoesNotFitIsRefusedByName) {
  const auto changed = [&](const std::function<void(RankingFile&)>& change) {
    RankingFile file = Small();
    change(file);
    return Complaint(RankingText(file));
  };
  EXPECT_THAT(Complaint("[]"), HasSubstr("target.ranks.json: is not a JSON object"));
  EXPECT_THAT(Complaint("{\"vocab_size\": 8, \"coverage_step\": 2, \"coverage\": [], "
                        "\"tokens\": [1, \"two\"]}"),
              HasSubstr("field 'tokens' is [1,\"two\"], expected token ids"));
  EXPECT_THAT(Complaint("{\"vocab_size\": 8, \"coverage_step\": 2, \"coverage\": []}"),
              HasSubstr("field 'tokens' is missing"));
  EXPECT_THAT(Complaint("{\"vocab_size\": 8, \"coverage_step\": 2, \"tokens\": [1]}"),
              HasSubstr("field 'coverage' is missing"));
  EXPECT_THAT(changed([](RankingFile& f) { f.ranking = {.step = 2}; }),
              HasSubstr("field 'tokens' is empty"));
  EXPECT_THAT(changed([](RankingFile& f) { f.vocab = 0; }), HasSubstr("field 'vocab_size' is 0"));
  EXPECT_THAT(changed([](RankingFile& f) { f.vocab = 7; }),
              HasSubstr("field 'tokens' holds token 7, expected 0 to 6"));
  EXPECT_THAT(changed([](RankingFile& f) { f.ranking.tokens[3] = 4; }),
              HasSubstr("field 'tokens' holds token 4 twice"));
  EXPECT_THAT(changed([](RankingFile& f) { f.ranking.coverage.pop_back(); }),
              HasSubstr("has 2 shares of coverage, expected 3: one for every 2 of 5 tokens"));
  EXPECT_THAT(changed([](RankingFile& f) { f.ranking.coverage[1] = 0.4f; }),
              HasSubstr("expected ascending shares up to 1"));
  EXPECT_THAT(changed([](RankingFile& f) { f.ranking.coverage[2] = 1.5f; }),
              HasSubstr("expected ascending shares up to 1"));
  EXPECT_THAT(changed([](RankingFile& f) { f.ranking.step = 0; }),
              HasSubstr("field 'coverage_step' is 0"));
}

TEST(CheckRankingFor, ComparesFingerprintsOrElseSizes) {
  const auto complaint = [](int vocab, uint64_t vocabulary, uint64_t own) {
    RankingFile file = Small();
    file.vocabulary = own;
    const Status status = CheckRankingFor(file, vocab, vocabulary, "target.ranks.json");
    return status.ok() ? "fits" : status.error().message;
  };
  EXPECT_EQ(complaint(8, 99, 99), "fits");
  EXPECT_EQ(complaint(16, 99, 99), "fits") << "one of the two is padded";
  EXPECT_THAT(complaint(8, 98, 99),
              HasSubstr("field 'vocabulary' is 99, expected the target's 98"));
  EXPECT_EQ(complaint(8, 99, 0), "fits");
  EXPECT_EQ(complaint(8, 0, 99), "fits");
  EXPECT_THAT(complaint(16, 99, 0), HasSubstr("field 'vocab_size' is 8, expected the target's 16"));
  EXPECT_THAT(complaint(16, 0, 99), HasSubstr("field 'vocab_size' is 8, expected the target's 16"));
}

}  // namespace
}  // namespace foretoken
