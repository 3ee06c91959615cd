// Hydra's heads: gradients, whole runs and export.
#include <gtest/gtest.h>

#include "hydra/module.h"
#include "io/draft_file.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

TEST_F(ParityTest, HydraGradientsOfAllWeights) {
  const Batch batch = RandomDocument(target_->shape().vocab, 10);
  const Tensor features = target_->Features(batch);
  HydraModule module(*target_, {2, 2, true}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const Tensor rows = torch::arange(8, torch::kInt64);
  const Tensor mix = torch::randn({2, 8, target_->shape().hidden});
  for (const NamedParameter& p : module.weights().parameters()) {
    SCOPED_TRACE(p.name);
    ExpectDirectionalDerivative(
        p.value,
        [&] {
          module.weights().Refresh();
          const Tensor prefix = module.Prefix(batch, features);
          return (module.States(0, batch, prefix, rows) * mix[0]).sum() +
                 (module.States(1, batch, prefix, rows) * mix[1]).sum();
        },
        /*step=*/1e-3);
  }
}

TEST_F(RunTest, KilledHydraRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/hydra", "hydra");
  run.recipe.steps = 60;
  run.recipe.settings["output_heads"] = run.recipe.settings["head_layers"] = "2";
  ExpectExactResume(run, 3 * (9 + 1 + 2 * 7));
}

TEST_F(RunTest, HydraLearnsAndExports) {
  MakeTarget(FileType::kF32);
  TrainOptions options = TinyDraftRun(directory_, directory_ + "/run", "hydra");
  options.recipe.settings = {{"target", directory_ + "/target.gguf"},
                             {"output_heads", "3"},
                             {"head_layers", "2"},
                             {"shared_output", "1"}};
  const auto [heldout, draft] = TrainDraft(options);
  ASSERT_NE(draft, nullptr);
  EXPECT_LT(heldout, 1.0);
  EXPECT_EQ(draft->info().output_heads, 3);
  EXPECT_EQ(draft->info().head_layers, 2);
  EXPECT_TRUE(draft->Has("head.2.res.1.weight"));
  EXPECT_TRUE(draft->Has("output_norm.weight"));
  EXPECT_EQ(draft->tensors().size(), 9u + 1 + 3 * 6);
}

}  // namespace
}  // namespace foretoken::train
