// EAGLE's drafts, in every cycle of the engine, equal steps computed from scratch.
#include "draft/eagle/eagle.h"

#include <gtest/gtest.h>

#include "draft/eagle/eagle_testing.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

class EagleDrafts : public ::testing::Test {
 protected:
  std::string DraftPath() { return target_.OptionsFor("eagle")["draft"].get<std::string>(); }

  // The logits after `tokens` and `path`, computed from scratch.
  std::vector<float> LogitsAfter(std::span<const Token> tokens, std::span<const Token> path) {
    const std::vector<float> features =
        StatesOf(target_, tokens.first(tokens.size() - 1), target_.model->config().layers);
    const auto trace = TraceEagle(DraftPath(), *target_.model, tokens, features, path);
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    return {trace->logits.end() - 97, trace->logits.end()};
  }

  Target target_{TinyConfig(2)};
};

// Rows that a draft keeps equal those of a fresh draft. Covers levels, features, positions
// and trees.
TEST_F(EagleDrafts, AreStepsFromScratch) {
  int compared = 0;
  for (const char* tree : {"chain:gamma=5", "eagle", "vct:width=2,depth=3"}) {
    Rig rig(target_, Combination{"eagle", tree}, 256, {.max_nodes = 40, .max_depth = 15});
    compared += ExpectDraftsFromScratch(
        rig, [&](auto tokens, auto path) { return LogitsAfter(tokens, path); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 100);
}

// If the verifier does not choose by the target's noise, candidates are ranked by probability
// alone, as in EAGLE-2.
TEST_F(EagleDrafts, RankByProbabilityForOtherVerifiers) {
  Rig rig(target_, Combination{"eagle", "chain", "sequential"}, 256,
          {.max_nodes = 6, .max_depth = 5});
  const auto sampling = SamplingParams{.temperature = 1, .seed = 5};
  const int compared = ExpectDraftsFromScratch(
      rig, [&](auto tokens, auto path) { return LogitsAfter(tokens, path); }, sampling);
  EXPECT_GT(compared, 10);
}

}  // namespace
}  // namespace foretoken
