// EAGLE drafts as the engine makes them, cycle after cycle, against steps computed from scratch;
// and drafts whose weights are no numbers.
#include "draft/eagle/eagle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "draft/eagle/eagle_testing.h"
#include "model/scoring_for_test.h"
#include "rig.h"

namespace foretoken {
namespace {

class EagleDrafts : public ::testing::Test {
 protected:
  std::string DraftPath() { return target_.OptionsFor("eagle")["draft"].get<std::string>(); }

  // The target's final-norm states of `tokens`, from scratch. [tokens, hidden]
  std::vector<float> FeaturesOf(std::span<const Token> tokens) {
    const auto cache = target_.model->NewCache(256, DType::kF32);
    const int last = target_.model->config().layers;
    const int count = static_cast<int>(tokens.size());
    std::vector<float> features(tokens.size() *
                                static_cast<size_t>(target_.model->config().hidden));
    const SequenceRows rows{cache.get(), {tokens.begin(), tokens.end()}, ChainParents(count)};
    Taps taps;
    Score(*target_.model, std::span(&rows, 1), {.hidden = {last}}, std::span(&taps, 1));
    target_.backend->Download(taps.Hidden(last), features.data());
    return features;
  }

  // Every node's log_q is the log-probability that steps from scratch give its token, and siblings
  // are the likeliest.
  void ExpectFromScratch(const CandidateTree& tree, std::span<const Token> tokens) {
    const std::vector<float> features = FeaturesOf(tokens.first(tokens.size() - 1));
    for (Node n = 0; n < tree.size(); ++n) {
      if (tree.FirstChild(n) == kNoNode) continue;
      std::vector<Token> path;
      for (Node up = n; up != 0; up = tree.parent(up)) path.insert(path.begin(), tree.token(up));
      const auto trace = TraceEagle(DraftPath(), *target_.model, tokens, features, path);
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      const std::vector<float> row(trace->logits.end() - 97, trace->logits.end());
      double sum = 0;
      for (const float x : row) sum += std::exp(x);
      int children = 0, better = 0;
      float worst = 1e9f;
      for (Node c = tree.FirstChild(n); c != kNoNode; c = tree.NextSibling(c), ++children) {
        const float logit = row[static_cast<size_t>(tree.token(c))];
        ASSERT_NEAR(tree.log_q(c), logit - std::log(sum), 1e-5) << "node " << c;
        worst = std::min(worst, logit);
      }
      for (const float x : row) better += x >= worst ? 1 : 0;
      ASSERT_EQ(better, children) << "a likelier token was left out";
      ++checked_;
    }
  }

  Target target_{TinyConfig(2)};
  int checked_ = 0;
};

// methods.md 11.12, item 4, and what a draft is: levels, features, positions, trees.
TEST_F(EagleDrafts, AreStepsFromScratch) {
  for (const char* tree : {"chain:gamma=5", "eagle", "vct:width=2,depth=3"}) {
    Rig rig(target_, Combination{"eagle", tree}, 256, {.max_nodes = 40, .max_depth = 15});
    const auto session = rig.Start({});
    ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 24).ok());
    Session* batch[] = {session.get()};
    for (; !session->done(); rig.generator().Step(batch)) {
      ExpectFromScratch(rig.generator().Draft(batch)[0], session->tokens);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(checked_, 100);
}

// Ranks by probability alone, whatever the target's sampling: what EAGLE-2 does.
TEST_F(EagleDrafts, MayIgnoreTheNoise) {
  Rig rig(target_, "eagle", 256, {.max_nodes = 6, .max_depth = 5}, {{"noise", "none"}});
  const auto session = rig.Start({.temperature = 1, .seed = 5});
  ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 12).ok());
  Session* batch[] = {session.get()};
  for (; !session->done(); rig.generator().Step(batch)) {
    ExpectFromScratch(rig.generator().Draft(batch)[0], session->tokens);
    if (HasFatalFailure()) return;
  }
}

// Weights of any value, in any place and type: the text is the target's, drafts are just worse.
TEST_F(EagleDrafts, SurviveEveryWeight) {
  Rig plain(target_, "none");
  const TemporaryDirectory folder;
  const std::string path = folder / "draft.gguf";
  const auto weights = NewRandomWeights(DType::kF32, target_.seed, *target_.backend);
  const TestTarget made_for{target_.model->config(),
                            *target_.tokenizer,
                            *weights,
                            *target_.backend,
                            [] { return std::vector<std::vector<Token>>(); },
                            ""};
  const float kWrong[] = {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 3e38f, 0.0f};
  const char* const kPlaces[] = {"fc.weight",
                                 "fc.bias",
                                 "blk.0.attn_k.weight",
                                 "blk.0.attn_v.weight",
                                 "blk.0.ffn_norm.weight",
                                 "blk.0.ffn_down.weight"};
  const std::vector<Token> prompt = RepetitivePrompt(1, 40, 97);
  const SamplingParams sampling{.temperature = 0.5f, .seed = 1};
  for (const FileType type : {FileType::kF32, FileType::kQ8_0}) {
    for (const char* place : kPlaces) {
      for (const float wrong : kWrong) {
        DraftBuilder draft = RandomEagle(made_for, 1);
        draft.values(place)[5] = wrong;
        if (wrong == 0) std::ranges::fill(draft.values(place), 0.0f);
        draft.Write(InfoFor(target_.model->config(), target_.tokenizer->data(), "eagle", 1), path,
                    type);
        const Json options = {{"draft", path}};
        auto drafter = NewDrafter("eagle", {*target_.model, 256, options, "", nullptr});
        ASSERT_TRUE(drafter.ok()) << drafter.error().message;
        Rig rig(target_, *std::move(drafter), {.max_nodes = 16, .max_depth = 5}, "eagle2");
        ASSERT_EQ(rig.Decode(prompt, 12, sampling)->tokens,
                  plain.Decode(prompt, 12, sampling)->tokens)
            << place << " " << wrong;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
