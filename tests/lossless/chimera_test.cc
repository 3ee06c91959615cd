// Chimera's drafts, in every cycle of the engine, equal passes computed from scratch, regardless of
// what its caches hold.
#include <gtest/gtest.h>

#include <bit>

#include "draft/chimera/chimera_testing.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

class ChimeraDrafts : public ::testing::Test {
 protected:
  // The tree of every cycle of a run as text, with the bits of every node's log_q.
  static std::vector<std::string> TreesOf(Target& target, const Json& options, int max_nodes = 20) {
    std::vector<std::string> shown;
    Json all = target.OptionsFor("chimera");
    all.update(options);
    Rig rig(target, *NewDrafter("chimera", {*target.model, 256, all, "", target.tokenizer.get()}),
            {.max_nodes = max_nodes, .max_depth = 6}, "eagle2");
    const auto session = rig.Start({});
    EXPECT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 40, 97), 24).ok());
    Session* batch[] = {session.get()};
    for (; !session->done(); Step(rig.generator(), batch)) {
      const CandidateTree tree = (*rig.generator().Draft(batch))[0];
      std::string& text = shown.emplace_back(Print(tree));
      for (Node n = 1; n < tree.size(); ++n) {
        text.append(" ").append(std::to_string(std::bit_cast<uint32_t>(tree.log_q(n))));
      }
    }
    EXPECT_GT(shown.size(), 5u);
    return shown;
  }

  Target target_{TinyConfig(2), 1, 1, /*max_rows=*/160};
};

// Rows that a draft keeps equal those of a fresh draft.
TEST_F(ChimeraDrafts, ArePassesFromScratch) {
  const std::string draft = target_.OptionsFor("chimera")["draft"].get<std::string>();
  for (const char* tree : {"eagle", "eagle2"}) {
    Rig rig(target_, Combination{"chimera", tree}, 256, {.max_nodes = 24, .max_depth = 15});
    const int compared = ExpectDraftsFromScratch(rig, [&](auto tokens, auto path) {
      const std::vector<float> features =
          StatesOf(target_, tokens.first(tokens.size() - 1), target_.model->config().layers);
      const auto trace = TraceChimera(draft, *target_.model, tokens, features, path);
      EXPECT_TRUE(trace.ok()) << trace.error().message;
      EXPECT_EQ(trace->size(), path.size() + 1) << "deeper than there are heads";
      return trace->back();
    });
    EXPECT_GT(compared, 50);
  }
}

// EAGLE's static tree, cut to as many levels as there are heads (C-6).
TEST_F(ChimeraDrafts, FillThePapersTree) {
  Rig rig(target_, Combination{"chimera", "eagle"}, 256, {.max_nodes = 64, .max_depth = 15});
  const auto session = rig.Start({});
  ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 24).ok());
  Session* batch[] = {session.get()};
  const CandidateTree tree = (*rig.generator().Draft(batch))[0];
  int by_depth[5] = {};
  for (Node n = 0; n < tree.size(); ++n) ++by_depth[tree.depth(n)];
  EXPECT_EQ(std::vector<int>(by_depth, by_depth + 5), (std::vector<int>{1, 4, 8, 8, 3}));
}

// Drafts are bit for bit the same with any n-gram cache (C-21).
TEST_F(ChimeraDrafts, DoNotDependOnTheCache) {
  const TemporaryDirectory folder;
  const std::vector<std::string> trees = TreesOf(target_, {{"cache_entries", 0}});
  EXPECT_EQ(TreesOf(target_, {{"cache_entries", 1}}), trees);
  EXPECT_EQ(TreesOf(target_, {{"cache_entries", 7}, {"spill", folder / "spilt"}}), trees);
  EXPECT_EQ(TreesOf(target_, {{"cache_entries", 65536}}), trees);
}

TEST_F(ChimeraDrafts, DoNotDependOnHowMuchIsReadAtOnce) {
  Target narrow{TinyConfig(2), 1, 1, /*max_rows=*/7};
  EXPECT_EQ(TreesOf(narrow, Json::object(), 6), TreesOf(target_, Json::object(), 6));
}

TEST_F(ChimeraDrafts, TellHowOftenTheCacheServed) {
  Rig rig(target_, "chimera", 256, {.max_nodes = 16, .max_depth = 15}, {{"cache_entries", 500}});
  rig.Decode(RepetitivePrompt(2, 40, 97), 24);
  const std::vector<Tally> tallies = rig.drafter()->Tallies();
  ASSERT_EQ(tallies.size(), 2u);
  EXPECT_EQ(tallies[0].name, "ngrams_in_memory");
  EXPECT_GT(tallies[0].of, 60);
  EXPECT_GT(tallies[0].count, 10);
  EXPECT_LT(tallies[0].count, tallies[0].of);
  EXPECT_EQ(tallies[1].count, 0);
}

}  // namespace
}  // namespace foretoken
