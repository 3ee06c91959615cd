// Compares the engine's EDD and VDM draft steps with training's forward pass.
#include <gtest/gtest.h>

#include "draft/edd/edd_testing.h"
#include "edd/attention.h"
#include "edd/module.h"
#include "model/scoring_for_test.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

constexpr int64_t kTextLength = 14;

class EddParityTest : public ParityTest {
 protected:
  static std::map<std::string, std::string> Settings(int64_t layer, const EddParts& parts) {
    return {{"layer", std::to_string(layer)},
            {"encoder", parts.encoder ? "1" : "0"},
            {"train_embedding", parts.train_embedding ? "1" : "0"},
            {"train_head", parts.train_head ? "1" : "0"},
            {"block_max", "10"}};
  }

  // Expects parity for an EDD draft that attends to the target's hidden state `layer`.
  void ExpectLayer(int64_t layer);

  // Expects that the engine's draft steps give the logits that training gives at each row of a
  // block, if drafts begin with the block's first token.
  void ExpectSteps(const Tensor& logits, const Batch& batch, std::span<const float> states,
                   const Tensor& starts) {
    const std::vector<Token> tokens = TokensOf(batch.ids);
    const int64_t vocab = target_->shape().vocab;
    for (int64_t p = 1; p < kTextLength; ++p) {
      const int64_t start = starts[0][p].item<int64_t>();
      if (start == 0) continue;  // a draft needs text before it
      const auto begin = static_cast<size_t>(start), end = static_cast<size_t>(p) + 1;
      const auto traced = TraceEdd(draft_, *model_, std::span(tokens).first(begin), states,
                                   std::span(tokens).subspan(begin, end - begin));
      ASSERT_TRUE(traced.ok()) << traced.error().message;
      const Tensor steps = TensorOf(*traced, vocab);
      ExpectNear(steps[steps.size(0) - 1], logits[p], 1e-4);
    }
  }
};

void EddParityTest::ExpectLayer(int64_t layer) {
  torch::NoGradGuard no_grad;
  const Batch batch = RandomDocument(target_->shape().vocab, kTextLength);
  HiddenState state{layer, {}};
  target_->Features(batch, &state);
  EddModule module(*target_, {}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  ExportRandom(module.weights(), "edd", Settings(layer, {}));
  for (const Tensor& starts : {BlockStarts(batch, 4), StepStarts(batch.first_key, 2)}) {
    const EddInputs inputs{1, kTextLength, batch.ids, batch.first_key, state.value, starts, 4};
    ExpectSteps(torch::matmul(module.Forward(inputs), module.head().compute.t()), batch,
                ValuesOf(state.value), starts);
  }
}

// The logits of the engine's draft steps equal those of training's rows, for several hidden states.
TEST_F(EddParityTest, DraftStepsMatchTraining) {
  for (const int64_t layer : {1, 2}) ExpectLayer(layer);
}

TEST_F(EddParityTest, DraftStepsMatchTrainingOnOtherFamilies) {
  OnOtherFamilies([&] { ExpectLayer(1); });
}

// The logits of a VDM's draft steps equal those of training's rows.
TEST_F(EddParityTest, VdmDraftStepsMatchTraining) {
  torch::NoGradGuard no_grad;
  const Batch batch = RandomDocument(target_->shape().vocab, kTextLength);
  const EddParts parts{.encoder = false, .train_embedding = false, .train_head = false};
  EddModule module(*target_, parts, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  ExportRandom(module.weights(), "edd", Settings(0, parts));
  const EddInputs inputs{1, kTextLength, batch.ids, batch.first_key};
  ExpectSteps(torch::matmul(module.Forward(inputs), module.head().compute.t()), batch, {},
              BlockStarts(batch, 4));
}

// The hidden states that training uses as the soft prompt equal the engine's.
TEST_F(EddParityTest, HiddenStatesMatchEngine) {
  ExpectSameHiddenStates(*target_, *model_, *backend_, kTextLength);
}

}  // namespace
}  // namespace foretoken::train
