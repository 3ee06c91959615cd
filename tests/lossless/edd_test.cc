// EDD's and VDM's drafts, in every cycle of the engine, equal steps computed from scratch.
#include "draft/edd/edd.h"

#include <gtest/gtest.h>

#include "draft/edd/edd_testing.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

class EddDrafts : public ::testing::Test {
 protected:
  // A draft of `layers` layers: EDD with hidden state `tap` as its soft prompt; nullopt: VDM.
  std::unique_ptr<Drafter> Make(std::optional<int> tap, int layers) {
    tap_ = tap;
    RandomEdd(made_for_, 5, layers).Write(EddInfo(made_for_, tap, layers), path_);
    const Json options = {{"draft", path_}, {"cache_type", "f32"}};
    return *NewDrafter("edd", {*target_.model, 256, options, "", target_.tokenizer.get()});
  }

  std::vector<float> LogitsAfter(std::span<const Token> tokens, std::span<const Token> path) {
    const auto text = tokens.first(tokens.size() - 1);
    const std::vector<float> states = tap_ ? StatesOf(target_, text, *tap_) : std::vector<float>();
    std::vector<Token> fed{tokens.back()};
    fed.insert(fed.end(), path.begin(), path.end());
    const auto logits = TraceEdd(path_, *target_.model, text, states, fed);
    EXPECT_TRUE(logits.ok()) << logits.error().message;
    return {logits->end() - 97, logits->end()};
  }

  int ExpectFromScratch(std::unique_ptr<Drafter> drafter, const char* tree,
                        const SamplingParams& sampling = {}, std::string_view verifier = "exact") {
    Rig rig(target_, std::move(drafter), {.max_nodes = 40, .max_depth = 10}, tree, verifier);
    return ExpectDraftsFromScratch(
        rig, [&](auto tokens, auto path) { return LogitsAfter(tokens, path); }, sampling);
  }

  Target target_{TinyConfig(2)};
  std::unique_ptr<WeightSource> weights_ =
      NewRandomWeights(DType::kF32, target_.seed, *target_.backend);
  TestTarget made_for_ = MadeFor(target_, *weights_);
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "draft.gguf";
  std::optional<int> tap_;
};

// Rows that a draft keeps equal those of a fresh draft. Covers levels, positions, trees and
// the growing soft prompt.
TEST_F(EddDrafts, AreStepsFromScratch) {
  int compared = 0;
  for (const char* tree : {"chain:gamma=5", "eagle2", "pct:expand=0.05"}) {
    for (const std::optional<int> tap : {std::optional<int>(1), std::optional<int>()}) {
      compared += ExpectFromScratch(Make(tap, 1), tree);
      if (HasFatalFailure()) return;
    }
  }
  compared += ExpectFromScratch(Make(4, 2), "vct:width=2,depth=3");
  EXPECT_GT(compared, 200);
}

// If the verifier does not choose by the target's noise, candidates are ranked by probability
// alone, as in the paper's trees.
TEST_F(EddDrafts, RankByProbabilityForOtherVerifiers) {
  EXPECT_GT(
      ExpectFromScratch(Make(1, 1), "pct:expand=0.05", {.temperature = 1, .seed = 5}, "sequential"),
      10);
}

// VDM, which tests of the registry do not cover, keeps the target's text, too.
TEST_F(EddDrafts, VdmKeepsTheText) {
  Rig plain(target_, "none");
  Rig rig(target_, Make({}, 1), {.max_nodes = 16, .max_depth = 5}, "pct:expand=0.05");
  for (uint64_t i = 0; i < 12; ++i) {
    const std::vector<Token> prompt = RepetitivePrompt(i, 1 + static_cast<int>(i * 7), 97);
    const SamplingParams sampling = VariedSampling(i);
    ASSERT_EQ(rig.Decode(prompt, 20, sampling)->tokens, plain.Decode(prompt, 20, sampling)->tokens);
  }
}

}  // namespace
}  // namespace foretoken
