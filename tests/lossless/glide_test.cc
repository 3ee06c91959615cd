// GLIDE's drafts, in every cycle of the engine, equal steps computed from scratch; every type of
// target cache can be read.
#include "draft/glide/glide.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "draft/glide/glide_testing.h"
#include "trained_drafts.h"

namespace foretoken {
namespace {

struct Kind {
  int layers;
  bool looks;
};

class GlideDrafts : public ::testing::Test {
 protected:
  // A drafter with a new file of weights, whose guesses follow texts that the target wrote.
  std::unique_ptr<Drafter> New(const Kind& kind) {
    const auto weights = NewRandomWeights(DType::kF32, target_.seed, *target_.backend);
    const auto texts = [this] {
      std::vector<std::vector<Token>> written;
      for (uint64_t i = 0; i < 12; ++i) {
        written.push_back(plain_.Decode(RepetitivePrompt(i, 40, 97), 24)->tokens);
      }
      return written;
    };
    const TestTarget made_for{
        target_.model->config(), *target_.tokenizer, *weights, *target_.backend, texts, ""};
    const DraftInfo info = GlideInfo(made_for, kind.layers, kind.looks);
    RandomGlide(made_for, info, 5).Write(info, path_);
    const Json options = {{"draft", path_}, {"cache_type", "f32"}};
    return *NewDrafter("glide", {*target_.model, 256, options, "", target_.tokenizer.get()});
  }

  // The logits after `tokens` and `path`, computed from scratch.
  std::vector<float> LogitsAfter(std::span<const Token> tokens, std::span<const Token> path) {
    const auto trace = TraceGlide(path_, *target_.model, tokens, path);
    EXPECT_TRUE(trace.ok()) << trace.error().message;
    return {trace->end() - 97, trace->end()};
  }

  Target target_{TinyConfig(2)};
  Rig plain_{target_, "none"};
  TemporaryDirectory folder_;
  std::string path_ = folder_ / "glide.gguf";
};

// Rows kept in the draft's cache equal those of a fresh cache.
TEST_F(GlideDrafts, AreStepsFromScratch) {
  int compared = 0;
  for (const Kind kind : {Kind{1, true}, Kind{2, true}, Kind{2, false}}) {
    for (const char* tree : {"chain:gamma=5", "cape", "vct:width=2,depth=3"}) {
      Rig rig(target_, New(kind), {.max_nodes = 40, .max_depth = 15}, tree);
      compared += ExpectDraftsFromScratch(
          rig, [&](auto tokens, auto path) { return LogitsAfter(tokens, path); });
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(compared, 200);
}

// Accepted rows that were fed are kept; only those that may change are fed again (G-18).
TEST_F(GlideDrafts, KeepWhatTheyFed) {
  for (const Kind kind : {Kind{1, true}, Kind{2, true}, Kind{2, false}}) {
    auto drafter = New(kind);
    const auto& glide = static_cast<const Glide&>(*drafter);
    Rig rig(target_, std::move(drafter), {.max_nodes = 16, .max_depth = 5});
    const auto session = rig.Start({});
    ASSERT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 40).ok());
    Session* batch[] = {session.get()};
    int accepted = 0;
    while (!session->done()) {
      EXPECT_TRUE(rig.generator().Step(batch).ok());
      const Cycle& cycle = session->cycles.back();
      const int committed = static_cast<int>(session->tokens.size()) - 1;
      // The root and all drafted tokens but the deepest were fed.
      const int fed = std::min(cycle.n_acc, std::max(0, cycle.max_depth - 1));
      const int kept = kind.layers == 1 || !kind.looks ? fed : 0;
      if (cycle.max_depth > 0) {
        ASSERT_EQ(glide.cache(session->draft_state()).length(), committed - cycle.n_acc + kept);
      }
      accepted += cycle.n_acc;
    }
    EXPECT_GT(accepted, 3);
  }
}

TEST_F(GlideDrafts, ReadEveryTypeOfCache) {
  for (const Kind kind : {Kind{1, true}, Kind{2, true}}) {
    Rig rig(target_, New(kind), {.max_nodes = 32, .max_depth = 5}, "cape");
    for (const DType type : {DType::kF16, DType::kBF16, DType::kQ8_0}) {
      int accepted = 0;
      for (uint64_t i = 0; i < 4; ++i) {
        const auto decode = [&](Rig& r) {
          auto session = r.generator().Start(
              {.sampling = VariedSampling(i), .capacity = 256, .cache_type = type});
          EXPECT_TRUE(r.generator().Prefill(*session, RepetitivePrompt(i, 70, 97), 30).ok());
          Session* batch[] = {session.get()};
          while (!session->done()) EXPECT_TRUE(r.generator().Step(batch).ok());
          return session;
        };
        const auto session = decode(rig);
        ASSERT_EQ(session->tokens, decode(plain_)->tokens);
        for (const Cycle& c : session->cycles) accepted += c.n_acc;
      }
      EXPECT_GT(accepted, 5);
    }
  }
}

// The prompts of a batch have more tokens than a pass has rows, so the first draft feeds them in
// several passes.
TEST_F(GlideDrafts, AreStepsFromScratchForLongPromptsInABatch) {
  Rig rig(target_, New({2, true}), {.max_nodes = 8, .max_depth = 4}, "cape");
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Session*> batch;
  for (const int length : {45, 12, 90, 140}) {
    sessions.push_back(rig.Start({}));
    batch.push_back(sessions.back().get());
    ASSERT_TRUE(rig.generator().Prefill(*batch.back(), RepetitivePrompt(3, length, 97), 12).ok());
  }
  int compared = 0;
  while (std::ranges::none_of(batch, &Session::done)) {
    const std::vector<CandidateTree> trees = *rig.generator().Draft(batch);
    for (size_t s = 0; s < 2; ++s) {
      for (Node n = 0; n < trees[s].size(); ++n) {
        if (trees[s].FirstChild(n) == kNoNode) continue;
        ExpectLikeliestChildren(trees[s], n, LogitsAfter(batch[s]->tokens, PathTo(trees[s], n)));
        if (HasFatalFailure()) return;
        ++compared;
      }
    }
    EXPECT_TRUE(rig.generator().Step(batch).ok());
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace foretoken
