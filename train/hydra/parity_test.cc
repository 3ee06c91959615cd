// Compares the logits of the engine's Hydra heads with those of the training module.
#include <gtest/gtest.h>

#include "draft/hydra/hydra_testing.h"
#include "hydra/module.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

class HydraParity : public ParityTest {
 protected:
  void ExpectHeads();
};

void HydraParity::ExpectHeads() {
  torch::NoGradGuard no_grad;
  constexpr int64_t kLength = 12;
  const Batch batch = RandomDocument(target_->shape().vocab, kLength);
  const Tensor features = target_->Features(batch).contiguous();
  const std::vector<Token> next = TokensOf(batch.targets);
  for (const auto& [heads, layers, shared] : {HydraShape{4, 3, false}, {2, 1, true}}) {
    SCOPED_TRACE(heads);
    HydraModule module(*target_, {heads, layers, shared},
                       {torch::kFloat32, torch::kCPU, NormalWeights(3)});
    ExportRandom(module.weights(), "hydra",
                 {{"output_heads", std::to_string(heads)},
                  {"head_layers", std::to_string(layers)},
                  {"shared_output", shared ? "1" : "0"}});
    const Tensor prefix = module.Prefix(batch, features);
    for (int64_t row = 0; row + heads <= kLength; ++row) {
      const std::vector<Token> path(next.begin() + row, next.begin() + row + heads);
      const auto trace =
          TraceHydra(draft_, *model_, ValuesOf(features.narrow(0, 0, row + 1)), path);
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      ASSERT_EQ(trace->logits.size(), static_cast<size_t>(heads));
      for (int64_t k = 0; k < heads; ++k) {
        const Tensor states = module.States(k, batch, prefix, torch::full({1}, row, torch::kInt64));
        ExpectNear(TensorOf(trace->logits[static_cast<size_t>(k)], target_->shape().vocab),
                   torch::matmul(states, module.scores(k).compute.t()), 1e-4);
      }
    }
  }
}

// The logits of the engine's heads equal those of the training module's heads.
TEST_F(HydraParity, HeadsMatchTraining) { ExpectHeads(); }

TEST_F(HydraParity, HeadsMatchTrainingOnOtherFamilies) {
  OnOtherFamilies([&] { ExpectHeads(); });
}

}  // namespace
}  // namespace foretoken::train
