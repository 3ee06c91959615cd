// Tests of Hydra's heads: gradients, dropout, whole runs and export.
#include <gtest/gtest.h>

#include "hydra/module.h"
#include "io/draft_file.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

TEST_F(ParityTest, HydraGradientsMatchFiniteDifferences) {
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

// For a linear head, the mean over many draws equals the value without dropout. A head with one
// block is linear, because its nonlinear part is initialised to 0.
TEST_F(ParityTest, HydraDropoutKeepsTheMean) {
  torch::NoGradGuard no_grad;
  const Batch batch = RandomDocument(target_->shape().vocab, 6);
  HydraModule module(*target_, {2, 1, true}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const Tensor prefix = module.Prefix(batch, target_->Features(batch));
  const Tensor rows = torch::arange(4, torch::kInt64);
  const auto states = [&](double rate, uint64_t key) {
    return module.States(0, batch, prefix, rows, {rate, key});
  };
  const Tensor without_dropout = module.States(0, batch, prefix, rows);
  EXPECT_TRUE(states(0.0, 7).equal(without_dropout));
  EXPECT_TRUE(states(0.2, 7).equal(states(0.2, 7)));
  EXPECT_FALSE(states(0.2, 7).equal(states(0.2, 8)));
  Tensor sum = torch::zeros_like(without_dropout);
  constexpr int kDraws = 2000;
  for (uint64_t key = 0; key < kDraws; ++key) sum += states(0.2, key);
  ExpectNear(sum / kDraws, without_dropout, 0.06);
}

// An element that survives both of a head's dropouts (of its input and of its scores) is scaled
// twice, and every other element is 0. The dropouts of different heads are independent.
TEST_F(ParityTest, HydraDropoutPrecedesBlocksAndOutput) {
  torch::NoGradGuard no_grad;
  const Batch batch = RandomDocument(target_->shape().vocab, 40);
  HydraModule module(*target_, {2, 1, true}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const Tensor prefix = module.Prefix(batch, target_->Features(batch));
  const Tensor rows = torch::arange(38, torch::kInt64);
  std::vector<Tensor> kept;
  for (int64_t head = 0; head < 2; ++head) {
    const Tensor ratio = module.States(head, batch, prefix, rows, {0.5, 3}) /
                         module.States(head, batch, prefix, rows);
    kept.push_back(ratio.ne(0.0));
    EXPECT_LE((ratio - 4.0 * kept.back()).abs().max().item<double>(), 1e-4);
    EXPECT_NEAR(kept.back().to(torch::kFloat64).mean().item<double>(), 0.25, 0.03);
  }
  EXPECT_NEAR(kept[0].logical_and(kept[1]).to(torch::kFloat64).mean().item<double>(), 0.0625, 0.02);
}

TrainOptions RunWithDropout(const std::string& directory, const std::string& out, double rate) {
  TrainOptions run = TinyDraftRun(directory, directory + out, "hydra");
  run.recipe.steps = 60;
  run.recipe.settings["output_heads"] = run.recipe.settings["head_layers"] = "2";
  run.recipe.settings["dropout"] = std::to_string(rate);
  return run;
}

TEST_F(RunTest, KilledHydraRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  ExpectExactResume(RunWithDropout(directory_, "/hydra", 0.2), 3 * (9 + 1 + 2 * 7));
}

// A batch's dropout does not depend on the worker that processes it; evaluation has no dropout.
TEST_F(RunTest, HydraDropoutIsTheSameForTwoWorkers) {
  MakeTarget(FileType::kQ8_0, 20);
  int runs = 0;
  const auto losses = [&](double rate, int64_t workers, double lr) {
    TrainOptions run = RunWithDropout(directory_, "/run" + std::to_string(++runs), rate);
    run.recipe.steps = 6;
    run.recipe.lr = lr;
    run.recipe.eval_every = 6;
    run.recipe.workers = workers;
    Announce(run);
    const Status trained = Train(run);
    EXPECT_TRUE(trained.ok()) << trained.error().message;
    return Losses(run.out);
  };
  // The worker process has this learning rate, because Announce does not pass lr on.
  const double lr = TinyDraftRun(directory_, directory_, "hydra").recipe.lr;
  EXPECT_EQ(losses(0.2, 1, lr), losses(0.2, 2, lr));
  const std::vector<std::string> with = losses(0.2, 1, 0.0), without = losses(0.0, 1, 0.0);
  ASSERT_EQ(with.size(), 6u);
  EXPECT_NE(with[0], without[0]);
  const auto heldout = [](const std::string& line) { return line.substr(line.rfind(' ')); };
  // A learning rate of 0 leaves the weights unchanged.
  EXPECT_EQ(heldout(with[5]), heldout(without[5]));
}

TEST_F(RunTest, HydraRefusesInvalidDropout) {
  for (const char* wrong : {"1", "-0.1"}) {
    TrainOptions run = TinyDraftRun(directory_, directory_ + "/none", "hydra");
    run.recipe.settings["dropout"] = wrong;
    EXPECT_EQ(Train(run).error().message, "dropout is '" + std::string(wrong) +
                                              "', expected a number of at least 0 and less than 1");
  }
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
