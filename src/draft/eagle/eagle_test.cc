// Checks the engine's EAGLE module against H-16 computed in plain loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "draft/eagle/eagle_testing.h"
#include "draft/plain_layer_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::HasSubstr;

// The module in plain loops, fed one pair of token and feature at a time.
class PlainEagle {
 public:
  PlainEagle(const ModelConfig& config, DraftBuilder& draft, std::vector<float> embedding)
      : hidden_(config.hidden),
        draft_(draft),
        layer_(config, draft),
        embedding_(std::move(embedding)) {}

  Row Step(Token token, const Row& feature) {
    Row input = RowOf(embedding_, token, hidden_);
    input.insert(input.end(), feature.begin(), feature.end());
    const std::vector<float>& bias = draft_.values("fc.bias");
    const Row x = Plus(Times(draft_.values("fc.weight"), input), {bias.begin(), bias.end()});
    return layer_.FeedForward(Plus(x, layer_.Attention(x)));
  }

 private:
  int hidden_;
  DraftBuilder& draft_;
  PlainLayer layer_;
  std::vector<float> embedding_;
};

class EagleTest : public TrainedDrafterTest {
 protected:
  EagleTest() : TrainedDrafterTest("eagle", TestConfig({.rope_base = 100})) {
    RandomEagle(Target(), 3).Write(InfoFor(config_, tokenizer_->data(), "eagle", 1), path_);
  }
};

TEST_F(EagleTest, StepsAreThoseOfThePaper) {
  DraftBuilder draft = RandomEagle(Target(), 3);
  PlainEagle reference(
      config_, draft,
      MatrixValues(*weights_, *backend_, "token_embd.weight", config_.vocab, config_.hidden));
  const std::vector<float> head =
      MatrixValues(*weights_, *backend_, "output.weight", config_.vocab, config_.hidden);
  const std::vector<Token> tokens = {4, 17, 2, 40, 9, 33}, drafted = {8, 8, 0};
  std::vector<float> features;
  for (size_t i = 0; i < 5 * static_cast<size_t>(config_.hidden); ++i) {
    features.push_back(std::sin(static_cast<float>(i) * 0.7f));
  }
  const auto trace = TraceEagle(path_, *model_, tokens, features, drafted);
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  ASSERT_EQ(trace->rows, 8);
  Row last;
  for (int r = 0; r < 8; ++r) {
    const bool is_pair = r < 5;
    const auto d = static_cast<size_t>(config_.hidden);
    Row feature = last;
    if (is_pair)
      feature.assign(features.begin() + r * config_.hidden,
                     features.begin() + (r + 1) * config_.hidden);
    last = reference.Step(
        is_pair ? tokens[static_cast<size_t>(r) + 1] : drafted[static_cast<size_t>(r) - 5],
        feature);
    const Row logits = Times(head, last);
    for (size_t i = 0; i < d; ++i) {
      ASSERT_NEAR(trace->hidden[static_cast<size_t>(r) * d + i], last[i], 1e-4) << "row " << r;
    }
    for (size_t v = 0; v < logits.size(); ++v) {
      ASSERT_NEAR(trace->logits[static_cast<size_t>(r) * logits.size() + v], logits[v], 1e-4);
    }
  }
}

// Drafts of another method, target or shape, and unknown options, are errors.
TEST_F(EagleTest, RefusesDraftsAndOptionsThatDoNotFit) {
  EXPECT_EQ(Complaint(Open()), "built");
  EXPECT_EQ(Complaint(Build("hass", {{"draft", path_}})), "built");
  EXPECT_THAT(Complaint(Build("eagle", Json::object())), HasSubstr("option draft is missing"));
  EXPECT_THAT(Complaint(Open({{"gamma", 3}})), HasSubstr("gamma"));
  const DraftBuilder draft = RandomEagle(Target(), 3);
  DraftInfo info = InfoFor(config_, tokenizer_->data(), "medusa", 1);
  draft.Write(info, path_);
  EXPECT_THAT(Complaint(Open()), HasSubstr("foretoken.draft.method is 'medusa', expected eagle"));
  info.method = "eagle";
  info.target.name = "another";
  config_.name = "this";
  model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  draft.Write(info, path_);
  EXPECT_THAT(Complaint(Open()), HasSubstr("its name is 'another'"));
  EXPECT_EQ(Complaint(Open({{"target", "any"}})), "built");
  info.blocks.layers = 2;
  draft.Write(info, path_);
  EXPECT_THAT(Complaint(Open({{"target", "any"}})),
              HasSubstr("blk.1.attn_norm.weight' is missing"));
}

}  // namespace
}  // namespace foretoken
