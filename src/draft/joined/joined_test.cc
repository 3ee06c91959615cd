// Tests of several drafters joined into one.
#include "draft/joined/joined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "draft/conversation_testing.h"
#include "draft/target_fixture_testing.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

using JoinedDrafters = TargetFixture;

// A token that both parts propose is one node, attributed to both; a token of one part is a
// separate node.
TEST_F(JoinedDrafters, OffersTheUnion) {
  const Json options = {{"pld.k", 2},
                        {"pld.max_ngram", 3},
                        {"lookahead.pool", "text"},
                        {"lookahead.ngram", 3},
                        {"lookahead.window", 1}};
  auto drafter = Build("pld,lookahead", options);
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  Conversation talk(**drafter);
  talk.Prompt(std::vector<Token>{1, 2, 3, 4, 5, 9, 3, 6, 7, 8, 1, 2, 3});
  const CandidateTree tree = talk.Propose({.max_nodes = 32, .max_depth = 8});
  const Node four = tree.Child(0, 4), six = tree.Child(0, 6);
  ASSERT_NE(four, kNoNode) << "pld and lookahead: 1 2 3 was followed by 4";
  ASSERT_NE(six, kNoNode) << "lookahead alone: 3 was followed by 6, too";
  EXPECT_EQ(tree.proposers(four), 3u);
  EXPECT_EQ(tree.proposers(six), 2u);
  EXPECT_NE(tree.Child(four, 5), kNoNode);
  EXPECT_NE(tree.Child(six, 7), kNoNode);
  EXPECT_EQ(Shown(talk.Propose({.max_nodes = 32, .max_depth = 8})), Shown(tree));
}

// Costs and trust are recorded for each part under its name.
TEST_F(JoinedDrafters, NamesItsPartsAndTimesThem) {
  auto drafter = Build("pld,pld+h", Json::object());
  ASSERT_TRUE(drafter.ok()) << drafter.error().message;
  const std::vector<DraftPart> parts = (*drafter)->Parts();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "pld");
  EXPECT_EQ(parts[1].name, "pld+h");
  const auto alone = Build("pld", Json::object());
  EXPECT_EQ((*alone)->Parts().size(), 1u);
  const auto state = (*drafter)->NewState();
  const auto policy = *NewTreePolicy("chain");
  TreeBuilder builder(1, {}, *policy);
  const SamplingParams sampling;
  const DraftSlot slot{*state, builder, sampling};
  ASSERT_TRUE((*drafter)->Propose(std::span(&slot, 1)).ok());
  EXPECT_EQ(builder.parts(), 2);
  EXPECT_GE(builder.part_seconds(0), 0);
  EXPECT_GE(builder.part_seconds(1), 0);
}

TEST_F(JoinedDrafters, NamesTheMistake) {
  const Json none = Json::object(), bare = {{"k", 3}}, typo = {{"pld.kk", 3}};
  EXPECT_THAT(Build("pld,guesswork", none).error().message, HasSubstr("no 'guesswork'"));
  EXPECT_THAT(Build("pld,pld", none).error().message, HasSubstr("'pld' is joined with itself"));
  EXPECT_THAT(Build("pld,", none).error().message, HasSubstr("no ''"));
  EXPECT_THAT(Build("pld,pld+h", bare).error().message, HasSubstr("pld.KEY"));
  EXPECT_THAT(Build("pld,pld+h", typo).error().message, HasSubstr("no option 'kk'"));
  EXPECT_THAT(Build("pld,llma", none).error().message, HasSubstr("option reference is missing"));
}

// The taps of a joined drafter are the union of its parts' taps.
TEST_F(JoinedDrafters, NeedsWhatItsPartsNeed) {
  const Json options = {{"pld+h.layer", 1}};
  auto joined = Build("pld,pld+h,lookahead", options);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ((*joined)->Needs().hidden, (std::vector<int>{1}));
  EXPECT_TRUE((*joined)->Needs().answers);
}

}  // namespace
}  // namespace foretoken
