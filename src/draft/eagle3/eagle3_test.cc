// Checks the engine's EAGLE-3 module against H-28 and H-29 computed in plain loops, which tokens it
// guesses, and which files it rejects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "draft/conversation_testing.h"
#include "draft/eagle3/eagle3_testing.h"
#include "draft/plain_layer_testing.h"
#include "draft/trained_fixture_testing.h"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The module in plain loops, fed row by row in order.
class PlainEagle3 {
 public:
  PlainEagle3(const ModelConfig& config, DraftBuilder& draft, std::vector<float> embedding)
      : config_(config), draft_(draft), layer_(config, draft), embedding_(std::move(embedding)) {}

  Row Fused(const Row& tapped) { return Times(draft_.values("fc.weight"), tapped); }

  Row Step(Token token, const Row& feature) {
    Row input = layer_.NormedBy("attn_norm", RowOf(embedding_, token, config_.hidden));
    const Row normed_feature = layer_.NormedBy("hidden_norm", feature);
    input.insert(input.end(), normed_feature.begin(), normed_feature.end());
    return layer_.FeedForward(Plus(feature, layer_.Attention(input)));
  }

  Row Logits(const Row& output) {
    return Times(draft_.values("output.weight"),
                 Normed(output, draft_.values("output_norm.weight"), config_.norm_eps));
  }

 private:
  const ModelConfig& config_;
  DraftBuilder& draft_;
  PlainLayer layer_;
  std::vector<float> embedding_;
};

class Eagle3Test : public TrainedDrafterTest {
 protected:
  Eagle3Test() : TrainedDrafterTest("eagle3", TestConfig({.rope_base = 100})) {
    RandomEagle3(Target(), 3).Write(Eagle3Info(Target()), path_);
    for (size_t i = 0; i < 5 * 3 * static_cast<size_t>(config_.hidden); ++i) {
      tapped_.push_back(std::sin(static_cast<float>(i) * 0.7f));
    }
  }

  std::unique_ptr<Eagle3Net> Net() { return *Eagle3Net::Load(*DraftFile::Open(path_), *model_); }
  // The drafter's guesses after tokens_, having observed tapped_.
  CandidateTree Guesses() {
    const auto drafter = *Open({{"cache_type", "f32"}});
    const auto state = drafter->NewState();
    const auto given = std::span(tokens_).first(5);
    Taps taps;
    const Buffer states = *backend_->Allocate(DType::kF32, 5, int64_t{3} * config_.hidden);
    backend_->Upload(tapped_.data(), states.tensor);
    const std::vector<int> indices = drafter->Needs().hidden;
    for (size_t t = 0; t < indices.size(); ++t) {
      taps.SetHidden(indices[t],
                     states.tensor.Cols(static_cast<int64_t>(t) * config_.hidden, config_.hidden));
    }
    const CandidateTree text = CandidateTree::Chain(given);
    std::vector<Node> path(given.size());
    std::iota(path.begin(), path.end(), 0);
    const Observation observation{*state, given, tokens_[5], text, path, taps, true, true};
    EXPECT_TRUE(drafter->Observe(std::span(&observation, 1)).ok());
    const KeepAllPolicy policy;
    TreeBuilder builder(tokens_[5], {.max_nodes = 64, .max_depth = 1}, policy);
    const SamplingParams sampling;
    const DraftSlot slot{*state, builder, sampling};
    EXPECT_TRUE(drafter->Propose(std::span(&slot, 1)).ok());
    return builder.Finish();
  }

  std::vector<Token> tokens_ = {4, 17, 2, 40, 9, 33};
  std::vector<float> tapped_;  // [5, 3 * hidden]
};

TEST_F(Eagle3Test, StepsAreThoseOfThePaper) {
  DraftBuilder draft = RandomEagle3(Target(), 3);
  PlainEagle3 plain(
      config_, draft,
      MatrixValues(*weights_, *backend_, "token_embd.weight", config_.vocab, config_.hidden));
  const std::vector<Token> drafted = {8, 8, 0};
  const EagleTrace trace = TraceEagle3(*Net(), tokens_, tapped_, drafted);
  ASSERT_EQ(trace.rows, 8);
  Row output;
  for (int r = 0; r < 8; ++r) {
    const bool is_pair = r < 5;
    const auto d = static_cast<size_t>(config_.hidden), row = static_cast<size_t>(r);
    // A drafted token's feature is the output of the row before it, used as it is: only the
    // target's hidden states are fused.
    const Row feature = is_pair ? plain.Fused(RowOf(tapped_, r, 3 * config_.hidden)) : output;
    output = plain.Step(is_pair ? tokens_[row + 1] : drafted[row - 5], feature);
    const Row logits = plain.Logits(output);
    ASSERT_EQ(logits.size(), 33u);
    for (size_t i = 0; i < d; ++i) {
      ASSERT_NEAR(trace.hidden[row * d + i], output[i], 1e-4) << "row " << r;
    }
    for (size_t v = 0; v < logits.size(); ++v) {
      ASSERT_NEAR(trace.logits[row * logits.size() + v], logits[v], 1e-4);
    }
  }
}

TEST_F(Eagle3Test, GuessesEveryTokenOfItsVocabularyAndNoOther) {
  const auto net = Net();
  const std::vector<Token> known = Eagle3Vocabulary(config_.vocab);
  ASSERT_LT(known.size(), static_cast<size_t>(config_.vocab));
  EXPECT_THAT(net->vocabulary().tokens, testing::ElementsAreArray(known));
  EXPECT_EQ(net->vocabulary().size, config_.vocab);
  const EagleTrace trace = TraceEagle3(*net, tokens_, tapped_, {});
  const std::span<const float> logits = std::span(trace.logits).last(known.size());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit);
  const CandidateTree tree = Guesses();
  std::vector<Token> guessed;
  for (Node n = 1; n < tree.size(); ++n) {
    guessed.push_back(tree.token(n));
    const auto found = std::ranges::find(known, tree.token(n));
    ASSERT_NE(found, known.end()) << "token " << tree.token(n);
    EXPECT_NEAR(tree.log_q(n), logits[static_cast<size_t>(found - known.begin())] - std::log(sum),
                1e-4);
  }
  EXPECT_THAT(guessed, testing::UnorderedElementsAreArray(known));
}

TEST_F(Eagle3Test, ReadsThreeHiddenStates) {
  EXPECT_THAT((*Open())->Needs().hidden, ElementsAre(0, 1, 2));
  config_.layers = 8;
  model_ = *NewRandomModel(config_, DType::kF32, 5, *backend_);
  DraftInfo info = Eagle3Info(Target());
  const DraftBuilder draft = RandomEagle3(Target(), 3);
  info.taps = {};
  draft.Write(info, path_);
  EXPECT_THAT((*Open())->Needs().hidden, ElementsAre(2, 4, 5));
  info.taps = {1, 3, 8};
  draft.Write(info, path_);
  EXPECT_THAT((*Open())->Needs().hidden, ElementsAre(1, 3, 8));
  info.taps = {1, 3};
  draft.Write(info, path_);
  EXPECT_THAT(Complaint(Open()), HasSubstr(path_ + ": foretoken.draft.taps holds 1, 3, expected "
                                                   "three different hidden states from 0 to 8"));
}

// Drafts of another method or shape, wrong taps and unknown options are errors.
TEST_F(Eagle3Test, RefusesDraftsAndOptionsThatDoNotFit) {
  EXPECT_EQ(Complaint(Open()), "built");
  EXPECT_THAT(Complaint(Build("eagle", {{"draft", path_}})), HasSubstr("use --drafter eagle3"));
  EXPECT_THAT(Complaint(Open({{"gamma", 3}})), HasSubstr("gamma"));
  DraftInfo info = Eagle3Info(Target());
  const auto complaint = [&](const DraftBuilder& draft) {
    draft.Write(info, path_);
    return Complaint(Open());
  };
  const DraftBuilder draft = RandomEagle3(Target(), 3);
  info.taps = {};
  EXPECT_THAT(complaint(draft), HasSubstr("foretoken.draft.taps is missing and would be 2, 1, -1"));
  info = Eagle3Info(Target());
  info.blocks.layers = 2;
  EXPECT_THAT(complaint(draft), HasSubstr("foretoken.draft.block_count is 2, expected 1"));
  info = Eagle3Info(Target());
  info.blocks.vocab = 32;
  EXPECT_THAT(complaint(draft), HasSubstr("'d2t'"));
}

// A `d2t` that does not map the draft's tokens to distinct tokens of the target is an error.
TEST_F(Eagle3Test, RejectsInvalidTokenMaps) {
  const auto complaint = [&](size_t index, float offset) {
    DraftBuilder draft = RandomEagle3(Target(), 3);
    draft.values("d2t")[index] = offset;
    draft.Write(Eagle3Info(Target()), path_);
    return Complaint(Open());
  };
  EXPECT_THAT(complaint(2, -3), HasSubstr("'d2t' maps the draft's token 2 to -1"));
  EXPECT_THAT(complaint(32, 9), HasSubstr("from 0 to 40"));
  EXPECT_THAT(complaint(1, 0.5f), HasSubstr("'d2t' maps the draft's token 1 to 1.5"));
  EXPECT_THAT(complaint(1, std::nanf("")), HasSubstr("'d2t' maps the draft's token 1 to nan"));
  EXPECT_THAT(complaint(1, -1), HasSubstr("token 1 to 0, where another one is mapped to"));
  EXPECT_EQ(complaint(1, 2), "built") << "the tokens need not be in order";
  DraftBuilder without_map(1);
  without_map.AddRandom("output_norm.weight", {32}, 1);
  without_map.Write(Eagle3Info(Target()), path_);
  EXPECT_THAT(Complaint(Open()), HasSubstr("'d2t' is missing, expected the offsets of 33 tokens"));
}

}  // namespace
}  // namespace foretoken
