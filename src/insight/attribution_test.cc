// Tests of copied spans, of their JSON and of the score of an attribution.
#include "insight/attribution.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "insight/quoted_answer.h"

namespace foretoken {
namespace {

using Spans = std::vector<CopiedSpan>;

// Spans of an answer to the prompt 10 11 12 13 14 15 16 17.
Spans Copied(const std::vector<Token>& answer, const std::vector<Pos>& sources, int least = 1) {
  std::vector<Token> tokens{10, 11, 12, 13, 14, 15, 16, 17};
  tokens.insert(tokens.end(), answer.begin(), answer.end());
  return CopiedSpans(tokens, 8, sources, least);
}

TEST(CopiedSpans, AreAcceptedRunsOfTheLeastLength) {
  const std::vector<Token> answer{50, 12, 13, 51, 15, 52};
  const std::vector<Pos> sources{-1, 2, 3, -1, 5, -1};
  EXPECT_EQ(Copied(answer, sources), (Spans{{1, 3, 2}, {4, 5, 5}}));
  EXPECT_EQ(Copied(answer, sources, 2), (Spans{{1, 3, 2}}));
  EXPECT_TRUE(Copied(answer, sources, 3).empty());
  EXPECT_TRUE(Copied({}, {}).empty());
}

TEST(CopiedSpans, ABonusThatContinuesTheSourceJoinsTwoDrafts) {
  EXPECT_EQ(Copied({12, 13, 14, 15, 16}, {2, 3, -1, 5, 6}), (Spans{{0, 5, 2}}));
  EXPECT_EQ(Copied({12, 13, 99, 15, 16}, {2, 3, -1, 5, 6}), (Spans{{0, 2, 2}, {3, 5, 5}}));
  EXPECT_EQ(Copied({16, 17, 10}, {6, 7, -1}), (Spans{{0, 2, 6}})) << "the prompt ends here";
}

TEST(CopiedSpans, AdjacentCopiesFromDifferentSourcesStaySeparate) {
  EXPECT_EQ(Copied({12, 13, 12, 13}, {2, 3, 2, 3}), (Spans{{0, 2, 2}, {2, 4, 2}}));
}

TEST(CopiedSpans, CopiesOfCopiesLeadToThePrompt) {
  // Positions 8 to 10 of the text hold 12 13 60; the rest of the answer was copied from them.
  EXPECT_EQ(Copied({12, 13, 60, 12, 13, 60}, {2, 3, -1, 8, 9, 10}), (Spans{{0, 2, 2}, {3, 5, 2}}));
}

TEST(AttributionJson, OffsetsCountCharacters) {
  const TokenText copied{"né été été", {4, 9, 10, 15}};  // "né ", "été", " ", "été"
  ASSERT_EQ(copied.text.size(), 15u);
  const Json json = AttributionJson(copied, 3, std::vector<CopiedSpan>{{0, 1, 1}}, 1);
  EXPECT_EQ(json["prompt"], "né été ");
  EXPECT_EQ(json["text"], "été");
  EXPECT_EQ(json["spans"][0]["begin"], 0);
  EXPECT_EQ(json["spans"][0]["end"], 3);
  EXPECT_EQ(json["spans"][0]["source_begin"], 3);
  EXPECT_EQ(json["spans"][0]["source_end"], 6);
  EXPECT_EQ(json["spans"][0]["text"], "été");
}

TEST(QuotedAnswer, QuotesLoseTheirMarks) {
  const MarkedText answer = ReadQuotes("There is [ 1 a [b] c ] , and [ 12 d ].[ no ]");
  EXPECT_EQ(answer.text, "There is a [b] c , and d.[ no ]");
  EXPECT_EQ(answer.PassageOf(0, 5), 0);
  const size_t quote = answer.text.find("a [b]");
  EXPECT_EQ(answer.PassageOf(quote, quote + 7), 1);
  EXPECT_EQ(answer.PassageOf(quote - 1, quote + 1), 1) << "spaces belong to no passage";
  EXPECT_EQ(answer.PassageOf(quote + 8, quote + 9), 0);
  EXPECT_EQ(answer.PassageOf(answer.text.find("d."), answer.text.find("d.") + 1), 12);
  EXPECT_EQ(answer.PassageOf(answer.text.size() - 6, answer.text.size()), 0);
}

TEST(QuotedAnswer, PassagesAreTheNumberedParagraphs) {
  const MarkedText prompt = ReadPassages("Quote.\n\n[1] One: a [2] b\n\n[2] Two\nQuestion?");
  EXPECT_EQ(prompt.passage.size(), prompt.text.size());
  const auto passage = [&](std::string_view word) {
    const size_t at = prompt.text.find(word);
    return prompt.PassageOf(at, at + word.size());
  };
  EXPECT_EQ(passage("Quote"), 0);
  EXPECT_EQ(passage("[1]"), 0);
  EXPECT_EQ(passage("One"), 1);
  EXPECT_EQ(passage("[2] b"), 1);
  EXPECT_EQ(passage("Two"), 2);
  EXPECT_EQ(passage("Question"), 0);
}

TEST(AttributionScore, GivesPrecisionRecallAndTheirMean) {
  AttributionScore score;
  EXPECT_EQ(score.f1(), 0);
  for (auto [quoted, attributed] : {std::pair{1, 1}, {1, 2}, {2, 0}, {0, 1}, {0, 0}, {3, 3}}) {
    score.Add(quoted, attributed);
  }
  EXPECT_DOUBLE_EQ(score.precision(), 2.0 / 4);
  EXPECT_DOUBLE_EQ(score.recall(), 2.0 / 4);
  EXPECT_DOUBLE_EQ(score.f1(), 0.5);
}

}  // namespace
}  // namespace foretoken
