// Tests of LLMA's search and of its reference files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "draft/conversation_testing.h"
#include "draft/llma/reference_lookup.h"
#include "draft/target_fixture_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<Token>;

Words Found(const std::vector<Words>& references, const Words& text, const ReferenceRule& rule) {
  const auto found = FollowingInReferences(references, text, rule);
  return {found.begin(), found.end()};
}

TEST(References, TheLongestSuffixWinsThenTheFirstReference) {
  const std::vector<Words> references{{9, 3, 50}, {2, 3, 60, 61, 62}, {1, 2, 3, 70, 71}};
  EXPECT_EQ(Found(references, {1, 2, 3}, {}), (Words{70, 71})) << "three words match";
  EXPECT_EQ(Found(references, {8, 2, 3}, {}), (Words{60, 61, 62}))
      << "two words match, first in the second reference";
  EXPECT_EQ(Found(references, {8, 8, 3}, {}), Words{50});
  EXPECT_EQ(Found(references, {8, 8, 3}, {.min_ngram = 2}), Words{});
  EXPECT_EQ(Found(references, {8, 2, 3}, {.k = 2}), (Words{60, 61}));
  EXPECT_EQ(Found(references, {62}, {}), Words{}) << "nothing follows the end of a reference";
}

TEST(References, TheTextItselfIsSearchedAfterTheReferences) {
  const std::vector<Words> references{{7, 50, 51}};
  EXPECT_EQ(Found(references, {7, 40, 41, 7}, {}), (Words{50, 51}));
  EXPECT_EQ(Found(references, {6, 7, 40, 6, 7}, {}), (Words{40, 6, 7}))
      << "the text has a longer suffix than the reference";
  EXPECT_EQ(Found({}, {5, 6, 5}, {}), (Words{6, 5}));
  EXPECT_EQ(Found({}, {}, {}), Words{});
}

class LlmaFiles : public TargetFixture {
 protected:
  LlmaFiles() : TargetFixture(TestConfig({.vocab = 12})) {}

  Result<std::unique_ptr<Drafter>> New(const Json& options) { return Build("llma", options); }
  std::string Text(const Words& words) { return tokenizer_->Decode(words); }
};

TEST_F(LlmaFiles, ProposesWhatFollowsInTheFiles) {
  folder_.Write("a.txt", Text({1, 2, 3, 4}));
  folder_.Write("b.txt", Text({5, 6, 7}));
  const auto drafter = *New({{"reference", {folder_ / "a.txt", folder_ / "b.txt"}}, {"k", 2}});
  Conversation talk(*drafter);
  talk.Prompt(Words{9, 5});
  EXPECT_EQ(Shown(talk.Propose()), "0:6 1:7");
  EXPECT_EQ(talk.Propose().source(1), kNoPos);
  talk.Write(talk.Propose(), Words{6, 1});
  EXPECT_EQ(Shown(talk.Propose()), "0:2 1:3");
  talk.Write(talk.Propose(), Words{9});
  EXPECT_EQ(Shown(talk.Propose()), "0:5 1:6") << "from the prompt";
  EXPECT_EQ(talk.Propose().source(1), 1);
}

TEST_F(LlmaFiles, ErrorsNameTheFileOrTheOption) {
  EXPECT_THAT(New(Json::object()).error().message, HasSubstr("llma: option reference is missing"));
  EXPECT_THAT(New({{"reference", 5}}).error().message, HasSubstr("reference: found 5"));
  EXPECT_THAT(New({{"reference", folder_ / "none"}}).error().message, HasSubstr("none"));
}

}  // namespace
}  // namespace foretoken
