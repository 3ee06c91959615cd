// Compares the logits of the engine's Medusa heads with those of the training module.
#include <gtest/gtest.h>

#include "draft/medusa/medusa_testing.h"
#include "medusa/module.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

// The logits of the engine's heads equal those of the training module's heads.
TEST_F(ParityTest, MedusaHeadsMatchTraining) {
  torch::NoGradGuard no_grad;
  const Batch batch = RandomDocument(target_->shape().vocab, 12);
  const Tensor features = target_->Features(batch).contiguous();
  for (const bool shared : {false, true}) {
    SCOPED_TRACE(shared);
    MedusaModule module(*target_, 3, shared, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
    ExportRandom(module.weights(), "medusa",
                 {{"output_heads", "3"}, {"shared_output", shared ? "1" : "0"}});
    const auto heads = TraceMedusa(draft_, *model_, ValuesOf(features));
    ASSERT_TRUE(heads.ok()) << heads.error().message;
    ASSERT_EQ(heads->size(), 3u);
    for (int64_t k = 0; k < 3; ++k) {
      const Tensor logits = torch::matmul(module.States(k, features), module.scores(k).compute.t());
      ExpectNear(TensorOf((*heads)[static_cast<size_t>(k)], target_->shape().vocab), logits, 1e-4);
    }
  }
}

}  // namespace
}  // namespace foretoken::train
