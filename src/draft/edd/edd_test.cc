// Checks the engine's EDD and VDM against E-17 and E-18 computed in plain loops, and which files
// are accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "draft/edd/edd_testing.h"
#include "draft/plain_layer_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

// The layer in plain loops, fed row by row. Rows of the soft prompt contribute keys and values
// only.
class PlainEdd {
 public:
  PlainEdd(const ModelConfig& config, DraftBuilder& draft)
      : config_(config), draft_(draft), layer_(config, draft) {}

  // Feeds the next row of the text.
  void Read(const Row& x) { layer_.Read(layer_.NormedBy("attn_norm", x)); }

  // Feeds the next token's row; returns the LM head's input for it.
  Row Step(Token token) {
    const Row x = Embedding(token);
    const Row y = layer_.FeedForward(Plus(x, layer_.Attention(layer_.NormedBy("attn_norm", x))));
    return Normed(y, draft_.values("output_norm.weight"), config_.norm_eps);
  }

  Row Embedding(Token token) {
    return RowOf(draft_.values("token_embd.weight"), token, config_.hidden);
  }

 private:
  const ModelConfig& config_;
  DraftBuilder& draft_;
  PlainLayer layer_;
};

class EddTest : public TrainedDrafterTest {
 protected:
  EddTest() : TrainedDrafterTest("edd", TestConfig({.layers = 4, .rope_base = 100})) {}
};

TEST_F(EddTest, StepsAreThoseOfThePaper) {
  const std::vector<Token> text = {4, 17, 2, 40, 9}, path = {33, 8, 8, 0};
  std::vector<float> states;
  for (size_t i = 0; i < text.size() * static_cast<size_t>(config_.hidden); ++i) {
    states.push_back(std::sin(static_cast<float>(i) * 0.7f));
  }
  const std::vector<float> head =
      MatrixValues(*weights_, *backend_, "output.weight", config_.vocab, config_.hidden);
  for (const std::optional<int> tap : {std::optional<int>(1), std::optional<int>()}) {
    DraftBuilder draft = RandomEdd(Target(), 3);
    draft.Write(EddInfo(Target(), tap), path_);
    const auto logits = TraceEdd(path_, *model_, text, states, path);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    ASSERT_EQ(logits->size(), path.size() * static_cast<size_t>(config_.vocab));
    PlainEdd plain(config_, draft);
    for (size_t i = 0; i < text.size(); ++i) {
      plain.Read(tap ? RowOf(states, static_cast<int>(i), config_.hidden)
                     : plain.Embedding(text[i]));
    }
    for (size_t i = 0; i < path.size(); ++i) {
      const Row expected = Times(head, plain.Step(path[i]));
      for (size_t v = 0; v < expected.size(); ++v) {
        ASSERT_NEAR((*logits)[i * expected.size() + v], expected[v], 1e-4) << "step " << i;
      }
    }
  }
}

// The logits do not depend on how the text is divided into passes, even with several layers.
TEST_F(EddTest, LogitsDoNotDependOnPasses) {
  const std::vector<Token> text = {4, 17, 2, 40, 9, 1, 30}, path = {33, 8};
  std::vector<float> states(text.size() * static_cast<size_t>(config_.hidden));
  for (size_t i = 0; i < states.size(); ++i) states[i] = std::cos(static_cast<float>(i));
  RandomEdd(Target(), 3, /*layers=*/2).Write(EddInfo(Target(), 4, /*layers=*/2), path_);
  const auto net = EddNet::Load(*DraftFile::Open(path_), *model_);
  ASSERT_TRUE(net.ok()) << net.error().message;
  const std::vector<float> one_pass = TraceEdd(**net, text, states, path);
  EXPECT_EQ(TraceEdd(**net, text, states, path, 3), one_pass);
  EXPECT_EQ(TraceEdd(**net, text, states, path, 1), one_pass);
}

// The drafter's only tap is the hidden state that the file names; a VDM has none.
TEST_F(EddTest, NeedsTheHiddenStateItReads) {
  for (const int tap : {0, 1, 4}) {
    RandomEdd(Target(), 3).Write(EddInfo(Target(), tap), path_);
    const auto drafter = Open();
    ASSERT_TRUE(drafter.ok()) << drafter.error().message;
    EXPECT_EQ((*drafter)->Needs().hidden, std::vector<int>{tap});
  }
  RandomEdd(Target(), 3).Write(EddInfo(Target(), {}), path_);
  const auto vdm = Open();
  ASSERT_TRUE(vdm.ok()) << vdm.error().message;
  EXPECT_TRUE((*vdm)->Needs().hidden.empty());
}

// Drafts of another method or with other taps, and unknown options, are errors.
TEST_F(EddTest, RefusesDraftsAndOptionsThatDoNotFit) {
  const DraftBuilder draft = RandomEdd(Target(), 3);
  DraftInfo info = EddInfo(Target(), 1);
  const auto complaint = [&](const DraftInfo& written) {
    draft.Write(written, path_);
    return Complaint(Open());
  };
  EXPECT_EQ(complaint(info), "built");
  EXPECT_THAT(Complaint(Build("edd", Json::object())), HasSubstr("option draft is missing"));
  EXPECT_THAT(Complaint(Open({{"gamma", 3}})), HasSubstr("gamma"));
  DraftInfo wrong = info;
  wrong.method = "eagle";
  EXPECT_THAT(complaint(wrong), HasSubstr("foretoken.draft.method is 'eagle', expected edd"));
  wrong = info;
  wrong.taps = {1, 3};
  EXPECT_THAT(complaint(wrong), HasSubstr("foretoken.draft.taps holds 2 hidden states"));
  wrong = info;
  wrong.target.layers = 5;
  EXPECT_THAT(complaint(wrong), HasSubstr("its number of layers is 5, this model's 4"));
  wrong = info;
  wrong.blocks.vocab = 40;
  EXPECT_THAT(complaint(wrong), HasSubstr("vocab_size 40, expected the target's 32 and 41"));
  wrong = info;
  wrong.blocks.hidden = 64;
  EXPECT_THAT(complaint(wrong), HasSubstr("embedding_length is 64"));
  wrong = info;
  wrong.shared.clear();
  EXPECT_THAT(complaint(wrong), HasSubstr("'output.weight' is missing"));
}

}  // namespace
}  // namespace foretoken
