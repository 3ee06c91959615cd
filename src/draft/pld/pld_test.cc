#include <gtest/gtest.h>

#include "draft/pld/lookup.h"

namespace foretoken {
namespace {

using Run = std::vector<Token>;

Run Found(const Run& text, const LookupRule& rule) {
  const auto found = FollowingLastNgram(text, rule);
  return {found.begin(), found.end()};
}

// methods.md 11.11: a b c X a b c Y a b c.
const Run kText{1, 2, 3, 90, 1, 2, 3, 91, 1, 2, 3};

TEST(Lookup, VectorsOfTheSpecification) {
  EXPECT_EQ(Found(kText, {.k = 2}), (Run{90, 1}));
  EXPECT_EQ(Found(kText, {.k = 4}), (Run{90, 1, 2, 3}));
  EXPECT_EQ(Found(kText, {.k = 10}), Run{}) << "no place has ten tokens after it";
}

TEST(Lookup, TheLongestSuffixIsTriedFirstAndTheEarliestPlaceWins) {
  const Run text{3, 50, 2, 3, 60, 1, 2, 3, 70, 1, 2, 3};
  EXPECT_EQ(Found(text, {.k = 1}), Run{70});
  EXPECT_EQ(Found(text, {.k = 1, .max_ngram = 2}), Run{60});
  EXPECT_EQ(Found(text, {.k = 1, .max_ngram = 1}), Run{50});
  EXPECT_EQ(Found({1, 7, 2, 8, 2}, {.k = 1, .min_ngram = 2}), Run{});
}

TEST(Lookup, ShortTextsHaveNoOtherPlace) {
  EXPECT_EQ(Found({}, {.k = 1}), Run{});
  EXPECT_EQ(Found({5}, {.k = 1}), Run{});
  EXPECT_EQ(Found({5, 5}, {.k = 1}), Run{}) << "the continuation would be the suffix itself";
  EXPECT_EQ(Found({5, 6, 5}, {.k = 1}), Run{6});
}

}  // namespace
}  // namespace foretoken
