// How many nodes a tree has depends neither on the tokens that an answer has left, nor on the
// model's context, nor on the initial size of a drafter's cache.
#include <gtest/gtest.h>

#include <algorithm>

#include "rig.h"
#include "tree/tree_builder.h"

namespace foretoken {
namespace {

constexpr TreeLimits kRoomy{.max_nodes = 60, .max_depth = 59};

// Trees of more nodes than these answers have tokens.
const Combination kCombinations[] = {{"edd", "eagle2:total_token=59"},
                                     {"edd", "vct:width=3,depth=3"},
                                     {"medusa", "medusa"},
                                     {"hass", "eagle2:total_token=59"},
                                     {"chimera", "eagle:depth=3"},
                                     {"hydra", "medusa"},
                                     {"glide", "vct:width=3,depth=3"},
                                     {"rest", "eagle2:total_token=59,top_k=64"}};

class TreeRoom : public ::testing::TestWithParam<Combination> {};

struct Drafts {
  std::vector<std::string> trees;  // of every cycle
  bool exceeds = false;            // a tree had more nodes than the answer had tokens left
};

// The drafts of an answer of `n` tokens in a context of `context` positions.
Drafts DraftsOf(Target& target, const Combination& combination, int context, int n) {
  Rig rig(target, combination, context, kRoomy);
  const auto session = rig.Start({}, context);
  EXPECT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), n).ok());
  Session* batch[] = {session.get()};
  Drafts drafts;
  while (!session->done()) {
    const CandidateTree tree = (*rig.generator().Draft(batch))[0];
    EXPECT_LT(session->cache().length() + tree.max_depth(), context) << "a node without a position";
    drafts.exceeds |= tree.size() > session->limit - static_cast<int>(session->tokens.size());
    drafts.trees.push_back(Print(tree));
    Step(rig.generator(), batch);
  }
  return drafts;
}

TEST_P(TreeRoom, DoesNotDependOnTheSessionsContext) {
  Target target(TinyConfig(2));
  const Drafts expected = DraftsOf(target, GetParam(), 400, 24);
  EXPECT_EQ(DraftsOf(target, GetParam(), 54, 24).trees, expected.trees);
  EXPECT_TRUE(expected.exceeds);
}

TEST_P(TreeRoom, DoesNotDependOnTheModelsContext) {
  Target target(TinyConfig(2));
  ModelConfig short_config = TinyConfig(2);
  short_config.context = 54;  // with the same weights
  Target short_target(short_config);
  EXPECT_EQ(DraftsOf(short_target, GetParam(), 54, 24).trees,
            DraftsOf(target, GetParam(), 400, 24).trees);
}

// While the token limit does not cut the depth of trees, it does not cut their nodes either.
TEST_P(TreeRoom, DoesNotShrinkWithTheTokensLeft) {
  Target target(TinyConfig(2));
  const std::vector<std::string> few = DraftsOf(target, GetParam(), 54, 24).trees;
  const std::vector<std::string> many = DraftsOf(target, GetParam(), 200, 120).trees;
  ASSERT_GT(few.size(), 2u);
  EXPECT_EQ(few[0], many[0]);
  EXPECT_EQ(few[1], many[1]);
}

INSTANTIATE_TEST_SUITE_P(Drafters, TreeRoom, ::testing::ValuesIn(kCombinations),
                         [](const auto& param) {
                           std::string name = param.param.drafter + "_" + param.param.tree;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

// The first draft of a drafter that may draft 512 nodes.
TreeBuilder LargeDraft(Target& target, const char* drafter, const TreePolicy& policy) {
  Rig rig(target, drafter);
  const auto session = rig.Start({});
  EXPECT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(4, 30, 97), 100).ok());
  TreeBuilder builder(session->tokens.back(), {.max_nodes = 512, .max_depth = 20}, policy);
  const DraftSlot slot = session->Slot(builder);
  EXPECT_TRUE(rig.drafter()->Propose({&slot, 1}).ok()) << drafter;
  return builder;
}

// A draft's cache has room for eight levels of 64 nodes.
TEST(DraftRoom, FollowsTheTree) {
  Target target(TinyConfig(2));
  const auto policy = *NewTreePolicy("eagle2:total_token=512,depth=8,top_k=64");
  for (const char* name : {"eagle", "hass", "eagle3", "edd", "draft-model", "glide"}) {
    const TreeBuilder builder = LargeDraft(target, name, *policy);
    EXPECT_EQ(builder.levels(), 9) << name;
    EXPECT_EQ(builder.tree().max_depth(), 9) << name;
  }
}

// A level with more nodes than one pass of the draft can have is fed in several passes.
TEST(DraftRoom, LevelsMayExceedAPass) {
  const auto policy = *NewTreePolicy("vct:width=12,depth=3");
  std::vector<std::string> trees;
  for (const int max_rows : {512, 64}) {
    Target target(TinyConfig(2), 1, 1, max_rows);
    for (const char* name : {"eagle", "edd", "hydra", "draft-model", "glide"}) {
      const TreeBuilder builder = LargeDraft(target, name, *policy);
      trees.push_back(Print(builder.tree()));
    }
  }
  const size_t half = trees.size() / 2;
  for (size_t i = 0; i < half; ++i) EXPECT_EQ(trees[i], trees[half + i]) << i;
}

}  // namespace
}  // namespace foretoken
