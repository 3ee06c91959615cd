// Compares the engine's drafting with training's alignment passes.
#include <gtest/gtest.h>

#include "draft/eagle/eagle_testing.h"
#include "eagle/module.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

class EagleParity : public ParityTest {
 protected:
  void ExpectSteps();
};

void EagleParity::ExpectSteps() {
  torch::NoGradGuard no_grad;
  const int64_t length = 16, passes = 5;
  const LlamaShape& shape = target_->shape();
  EagleModule module(shape, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  ExportRandom(module.weights(), "hass", {});
  const Batch batch = RandomDocument(shape.vocab, length);
  const Tensor features = target_->Features(batch).contiguous();
  const EagleInputs inputs{1, length, target_->Embeddings(batch.targets), features,
                           batch.first_key};
  const Tensor outputs = module.Forward(inputs, passes);
  const Tensor logits = torch::matmul(outputs, target_->head().t());
  const std::vector<Token> next = TokensOf(batch.targets);
  int compared = 0;
  for (int64_t pairs = 1; pairs + passes - 1 <= length; ++pairs) {
    std::vector<Token> tokens = {0};  // x_0 has no pair
    tokens.insert(tokens.end(), next.begin(), next.begin() + pairs);
    const std::vector<Token> drafted(next.begin() + pairs, next.begin() + pairs + passes - 1);
    const auto trace =
        TraceEagle(draft_, *model_, tokens, ValuesOf(features.narrow(0, 0, pairs)), drafted);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    const Tensor hidden = TensorOf(trace->hidden, shape.hidden);
    const Tensor engine_logits = TensorOf(trace->logits, shape.vocab);
    for (int64_t pass = 0; pass < passes; ++pass) {
      const int64_t row = pairs - 1 + pass;
      ExpectNear(hidden[row], outputs[pass * length + row], 1e-4);
      ExpectNear(engine_logits[row], logits[pass * length + row], 1e-4);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 12 * 5);
}

// Outputs and logits of the engine's draft step k equal those of training's alignment pass k.
TEST_F(EagleParity, DraftStepsMatchPasses) { ExpectSteps(); }

TEST_F(EagleParity, DraftStepsMatchPassesOnOtherFamilies) {
  OnOtherFamilies([&] { ExpectSteps(); });
}

}  // namespace
}  // namespace foretoken::train
