// Tests of HASS with an update of the weights after each pass (H-2).
#include <gtest/gtest.h>

#include "batch.h"
#include "checkpoint.h"
#include "draft_ops.h"
#include "eagle/loss.h"
#include "eagle/module.h"
#include "optimizer.h"
#include "packing.h"
#include "parity_testing.h"
#include "schedule.h"

namespace foretoken::train {
namespace {

TrainOptions PassRun(const std::string& directory, const std::string& out, int passes,
                     bool step_per_pass) {
  TrainOptions run = TinyDraftRun(directory, directory + out, "hass");
  run.recipe.settings["passes"] = std::to_string(passes);
  run.recipe.settings["step_per_pass"] = step_per_pass ? "1" : "0";
  return run;
}

constexpr int kTensors = 3 * 10;  // weights and two moments of 10 tensors

// LastPass has the same values and gradients as Forward's last pass.
TEST_F(ParityTest, LastPassMatchesForward) {
  const LlamaShape& shape = target_->shape();
  const Batch batch = RandomDocument(shape.vocab, 12);
  EagleModule module(shape, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const EagleInputs inputs{
      1, 12, target_->Embeddings(batch.targets), target_->Features(batch), batch.first_key, {}};
  const Tensor mix = torch::randn({12, shape.hidden});
  std::vector<EaglePassInputs> pass_inputs = {EagleModule::FirstInputs(inputs)};
  const auto gradients = [&] {
    std::vector<Tensor> all;
    for (const NamedParameter& p : module.weights().parameters()) all.push_back(GradOf(p.value));
    return all;
  };
  for (int64_t pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    const Tensor forward_last = module.Forward(inputs, pass + 1).narrow(0, 12 * pass, 12);
    (forward_last * mix).sum().backward();
    const std::vector<Tensor> expected = gradients();
    const Tensor last = module.LastPass(inputs, pass_inputs);
    EXPECT_TRUE(last.equal(forward_last));
    (last * mix).sum().backward();
    const std::vector<Tensor> found = gradients();
    for (size_t i = 0; i < found.size(); ++i) ExpectNear(found[i], expected[i], 1e-5);
    pass_inputs.push_back(EagleModule::NextInputs(inputs, last, pass + 1));
  }
}

// With one pass, a run with an update per pass equals an ordinary run.
TEST_F(RunTest, StepPerPassOfOnePassEqualsOrdinaryRun) {
  MakeTarget(FileType::kQ8_0, 20);
  const TrainOptions per_step = PassRun(directory_, "/plain", 1, false),
                     per_pass = PassRun(directory_, "/pass", 1, true);
  ASSERT_TRUE(Train(per_step).ok() && Train(per_pass).ok());
  EXPECT_EQ(Losses(per_step.out), Losses(per_pass.out));
  ExpectSameTensors(per_step.out, per_pass.out, kTensors);
}

// Compares a run of two passes and two batches per step with the same steps written out by hand.
TEST_F(RunTest, TwoPassStepsMatchStepsByHand) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions run = PassRun(directory_, "/run", 2, true);
  run.recipe.steps = 2;
  run.recipe.warmup = 0;
  run.recipe.settings["noise"] = "0";
  run.recipe.settings["beta"] = "0.5";
  const Status trained = Train(run);
  ASSERT_TRUE(trained.ok()) << trained.error().message;

  const Method& method = *FindMethod("hass");
  ASSERT_TRUE(CompleteSettings(method.settings, run.recipe).ok());
  const auto prepared = method.prepare(run, torch::kCPU);
  ASSERT_TRUE(prepared.ok());
  const Recipe& r = prepared->recipe;
  const auto target = *FrozenTarget::Open(directory_ + "/target.gguf", ComputeType(r), torch::kCPU);
  Packer packer(prepared->corpus, {r.data[0].weight}, r.length, r.seed);
  EagleModule module(target->shape(), WeightOptionsOf(r, torch::kCPU));
  Optimizer optimizer(module.weights().parameters(),
                      {r.beta1, r.beta2, 1e-8, r.weight_decay, r.clip, r.clip_value});
  std::vector<double> losses;
  for (int64_t step = 0; step < r.steps; ++step) {
    std::vector<Batch> batches;
    double loss_terms = 0.0;
    for (int64_t first = 4 * step; first < 4 * step + 4; first += 2) {
      const std::vector<Sequence> pair = {packer.At(first), packer.At(first + 1)};
      batches.push_back(MakeBatch(prepared->corpus, pair, r.length, first, torch::kCPU));
      loss_terms += batches.back().inner.sum().item<double>();
    }
    std::vector<std::vector<EaglePassInputs>> pass_inputs(batches.size());
    double total = 0.0;
    for (int64_t pass = 0; pass < 2; ++pass) {
      for (size_t b = 0; b < batches.size(); ++b) {
        const Batch& batch = batches[b];
        const Tensor features = target->Features(batch);
        const EagleInputs inputs{batch.batch, batch.length,    target->Embeddings(batch.targets),
                                 features,    batch.first_key, {}};
        if (pass == 0) pass_inputs[b] = {EagleModule::FirstInputs(inputs)};
        const Tensor outputs = module.LastPass(inputs, pass_inputs[b]);
        pass_inputs[b].push_back(EagleModule::NextInputs(inputs, outputs, 1));
        EagleLossOptions options;
        options.hard = 1.0;
        options.pass_weights = {pass == 0 ? 1.0 : 0.5};
        EagleLossParts parts;
        const Tensor rows = batch.inner.nonzero().squeeze(1);
        const Tensor loss = EagleLoss(outputs, {features, target->head(), rows, {}}, options,
                                      1.0 / loss_terms, kLossChunk, parts);
        loss.backward();
        total += loss.item<double>();
      }
      optimizer.Step(2 * step + pass + 1,
                     LearningRate(r, step + 1, 0.5 * static_cast<double>(step)));
      module.weights().Refresh();
    }
    losses.push_back(total);
  }
  const auto file = SafetensorsFile::Open(CheckpointPath(run.out));
  ASSERT_TRUE(file.ok());
  for (const NamedParameter& p : module.weights().parameters()) {
    const auto bytes = file->Find(p.name)->bytes;
    EXPECT_EQ(std::memcmp(p.value.data_ptr<float>(), bytes.data(), bytes.size()), 0) << p.name;
  }
  const std::vector<std::string> logged = Losses(run.out);
  ASSERT_EQ(logged.size(), 2u);
  for (size_t i = 0; i < logged.size(); ++i) {
    EXPECT_NEAR(std::stod(logged[i].substr(2)), losses[i], 1e-6 * losses[i]);
  }
}

TEST_F(RunTest, KilledStepPerPassRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions run = PassRun(directory_, "/hass", 3, true);
  run.recipe.steps = 60;
  run.recipe.ema = 0.5;
  ExpectExactResume(run, 4 * 10);  // weights, two moments and averages of 10 tensors
}

TEST_F(RunTest, TwoWorkersMatchOneWithStepPerPass) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions one = PassRun(directory_, "/one", 2, true);
  one.recipe.steps = 12;
  ExpectTwoWorkersAgree(one, kTensors);
  TrainOptions invalid = one;
  invalid.recipe.settings["step_per_pass"] = "2";
  EXPECT_EQ(Train(invalid).error().message,
            "step_per_pass is '2', expected a whole number from 0 to 1");
}

}  // namespace
}  // namespace foretoken::train
