// Tests of prompt lookup.
#include <gtest/gtest.h>

#include "draft/copy_confidence.h"
#include "draft/pld/lookup.h"

namespace foretoken {
namespace {

using Words = std::vector<Token>;

Words Found(const Words& text, const LookupRule& rule) {
  const auto found = FollowingLastNgram(text, rule);
  return {found.begin(), found.end()};
}

// The text of B-17: a b c X a b c Y a b c.
const Words kText{1, 2, 3, 90, 1, 2, 3, 91, 1, 2, 3};

TEST(Lookup, VectorsOfTheSpecification) {
  EXPECT_EQ(Found(kText, {.k = 2}), (Words{90, 1}));
  EXPECT_EQ(Found(kText, {.k = 4}), (Words{90, 1, 2, 3}));
  EXPECT_EQ(Found(kText, {.k = 10}), Words{}) << "no place has ten tokens after it";
}

TEST(Lookup, TheLongestSuffixIsTriedFirstAndTheEarliestPlaceWins) {
  const Words text{3, 50, 2, 3, 60, 1, 2, 3, 70, 1, 2, 3};
  EXPECT_EQ(Found(text, {.k = 1}), Words{70});
  EXPECT_EQ(Found(text, {.k = 1, .max_ngram = 2}), Words{60});
  EXPECT_EQ(Found(text, {.k = 1, .max_ngram = 1}), Words{50});
  EXPECT_EQ(Found({1, 7, 2, 8, 2}, {.k = 1, .min_ngram = 2}), Words{});
}

TEST(CopyConfidence, GrowsWithTheMatch) {
  EXPECT_EQ(MatchBefore(kText, 3, 8), 3) << "a b c before X, and at the end";
  EXPECT_EQ(MatchBefore(kText, 7, 8), 3);
  EXPECT_EQ(MatchBefore(kText, 7, 2), 2);
  EXPECT_EQ(MatchBefore(kText, 4, 8), 0);
  EXPECT_EQ(MatchBefore(kText, 0, 8), 0);
  EXPECT_LT(CopyConfidence(Words{1, 9, 2, 1}, 1), CopyConfidence(kText, 3));
}

TEST(Lookup, TheSuffixItselfIsNotCopied) {
  EXPECT_EQ(Found({}, {.k = 1}), Words{});
  EXPECT_EQ(Found({5}, {.k = 1}), Words{});
  EXPECT_EQ(Found({5, 5}, {.k = 1}), Words{}) << "the continuation would be the suffix itself";
  EXPECT_EQ(Found({5, 6, 5}, {.k = 1}), Words{6});
}

}  // namespace
}  // namespace foretoken
