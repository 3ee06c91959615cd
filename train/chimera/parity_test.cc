// Compares Chimera's heads: the engine's logits with those of the training module.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "chimera/module.h"
#include "draft/chimera/chimera_testing.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

class ChimeraParity : public ParityTest {
 protected:
  void ExpectSteps(std::span<const ChimeraShape> shapes);
};

void ChimeraParity::ExpectSteps(std::span<const ChimeraShape> shapes) {
  torch::NoGradGuard no_grad;
  constexpr int64_t kLength = 14;
  const Batch batch = RandomDocument(target_->shape().vocab, kLength);
  const Tensor features = target_->Features(batch).contiguous();
  const std::vector<Token> tokens = TokensOf(batch.ids);
  for (const auto& [heads, ngram, shared] : shapes) {
    SCOPED_TRACE(ngram);
    ChimeraModule module(*target_, {heads, ngram, shared},
                         {torch::kFloat32, torch::kCPU, NormalWeights(3)});
    ExportRandom(module.weights(), "chimera",
                 {{"output_heads", std::to_string(heads)},
                  {"ngram", std::to_string(ngram)},
                  {"shared_output", shared ? "1" : "0"}});
    const ChimeraContext context = module.Encode(batch, features);
    // The root is x_t, and the last known feature is that of token q = t - 1, the anchor (C-20).
    for (int64_t q = 0; q + 1 + heads <= kLength; ++q) {
      const std::vector<Token> text(tokens.begin(), tokens.begin() + q + 2);
      const std::vector<Token> drafted(tokens.begin() + q + 2, tokens.begin() + q + 1 + heads);
      const auto trace =
          TraceChimera(draft_, *model_, text, ValuesOf(features.narrow(0, 0, q + 1)), drafted);
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      ASSERT_EQ(trace->size(), static_cast<size_t>(heads));
      for (int64_t k = 0; k < heads; ++k) {
        const Tensor row = torch::full({1}, q + 1 + k, torch::kInt64);
        const Tensor states =
            module.States(k, features.narrow(0, q, 1), module.Output(context, k, row));
        const Tensor logits = torch::matmul(states, module.scores(k).compute.t());
        ExpectNear(TensorOf((*trace)[static_cast<size_t>(k)], target_->shape().vocab), logits,
                   1e-4);
      }
    }
  }
}

// The logits of draft step k equal those of the training module's head k.
TEST_F(ChimeraParity, DraftStepsMatchHeads) {
  ExpectSteps(std::array<ChimeraShape, 4>{{{4, 3, false}, {3, 1, true}, {5, 5, true}, {2, 2}}});
}

TEST_F(ChimeraParity, DraftStepsMatchHeadsOnOtherFamilies) {
  OnOtherFamilies([&] { ExpectSteps(std::array<ChimeraShape, 1>{{{3, 3, true}}}); });
}

}  // namespace
}  // namespace foretoken::train
