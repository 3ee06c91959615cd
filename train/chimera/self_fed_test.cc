// Tests of training Chimera's heads on the draft's own tokens (C-4).
#include <gtest/gtest.h>

#include "chimera/module.h"
#include "draft/chimera/chimera_testing.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

// The token of a row is 10 + row, and head i's guess after the row is (i + 1) * 100 + row.
// Documents begin at rows 0 and 4.
TEST(SelfFedTest, NgramsMatchValuesByHand) {
  Batch batch;
  batch.batch = 1;
  batch.length = 8;
  batch.ids = torch::arange(10, 18, torch::kInt32);
  batch.first_key = torch::tensor({0, 0, 0, 0, 4, 4, 4, 4}, torch::kInt32).view({1, -1});
  const Tensor row = torch::arange(8, torch::kInt64), rows = NgramRows(batch, 3);
  const std::vector<Tensor> guesses = {row + 100, row + 200, row + 300};
  const auto ids = [&](size_t guess_count) {
    return SelfFedIds(batch, rows, std::span(guesses).first(guess_count));
  };
  const auto expect = [](const Tensor& found, const std::vector<int64_t>& tokens) {
    EXPECT_TRUE(found.equal(torch::tensor(tokens, torch::kInt64))) << found;
  };
  expect(ids(1)[3], {11, 12, 102});
  expect(ids(1)[2], {10, 11, 101});
  expect(ids(2)[3], {11, 101, 202});
  // The root would be row 4, the first of its document: nothing is drafted.
  expect(ids(3)[7], {15, 16, 17});
  expect(ids(2)[7], {15, 105, 206});
  expect(ids(1)[6], {14, 15, 105});
  expect(ids(1)[5], {14, 15, 15});
  expect(ids(1)[4], {14, 14, 14});
}

// The logits of self-fed training equal the engine's logits if the engine drafts each head's most
// likely token.
TEST_F(ParityTest, SelfFedChimeraMatchesEngine) {
  torch::NoGradGuard no_grad;
  constexpr int64_t kLength = 14;
  const Batch batch = RandomDocument(target_->shape().vocab, kLength);
  const Tensor features = target_->Features(batch).contiguous();
  const std::vector<Token> tokens = TokensOf(batch.ids);
  int guesses_unlike_text = 0;
  for (const ChimeraShape& shape : {ChimeraShape{4, 3, false}, {5, 5, true}, {3, 1, true}}) {
    SCOPED_TRACE(shape.ngram);
    const int64_t heads = shape.heads;
    ChimeraModule module(*target_, shape, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
    ExportRandom(module.weights(), "chimera",
                 {{"output_heads", std::to_string(heads)},
                  {"ngram", std::to_string(shape.ngram)},
                  {"shared_output", shape.shared_output ? "1" : "0"}});
    const ChimeraContext context = module.EncodeSelfFed(batch, features);
    for (int64_t q = 0; q + 1 + heads <= kLength; ++q) {
      std::vector<Tensor> logits;
      std::vector<Token> drafted;
      for (int64_t k = 0; k < heads; ++k) {
        const Tensor row = torch::full({1}, q + 1 + k, torch::kInt64);
        const Tensor states =
            module.States(k, features.narrow(0, q, 1), module.Output(context, k, row));
        logits.push_back(torch::matmul(states, module.scores(k).compute.t()));
        drafted.push_back(static_cast<Token>(logits.back().argmax().item<int64_t>()));
        if (q + 2 + k < kLength && drafted.back() != tokens[static_cast<size_t>(q + 2 + k)]) {
          ++guesses_unlike_text;
        }
      }
      drafted.pop_back();
      const std::vector<Token> text(tokens.begin(), tokens.begin() + q + 2);
      const auto trace =
          TraceChimera(draft_, *model_, text, ValuesOf(features.narrow(0, 0, q + 1)), drafted);
      ASSERT_TRUE(trace.ok()) << trace.error().message;
      for (size_t k = 0; k < logits.size(); ++k) {
        ExpectNear(TensorOf((*trace)[k], target_->shape().vocab), logits[k], 1e-4);
      }
    }
  }
  EXPECT_GT(guesses_unlike_text, 50);
}

// Gradients of heads after the first reach the transformer layer, but not the n-gram encoder that
// computes its inputs.
TEST_F(ParityTest, SelfFedInputsAreDetached) {
  const Batch batch = RandomDocument(target_->shape().vocab, 12);
  const Tensor features = target_->Features(batch);
  ChimeraModule module(*target_, {3, 3, true}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const Tensor rows = torch::arange(4, 12, torch::kInt64);
  const Tensor mix = torch::randn({8, target_->shape().hidden});
  // Returns, for each weight, the largest magnitude of its gradient. The loss is a random
  // projection of a head's outputs.
  const auto gradient = [&](bool self_fed, int64_t head) {
    const ChimeraContext context =
        self_fed ? module.EncodeSelfFed(batch, features) : module.Encode(batch, features);
    (module.Output(context, head, rows) * mix).sum().backward();
    std::map<std::string, double> largest;
    for (const NamedParameter& p : module.weights().parameters()) {
      const Tensor grad = p.value.grad();
      largest[p.name] = grad.defined() ? grad.abs().max().item<double>() : 0.0;
      Tensor value = p.value;
      value.mutable_grad().reset();
    }
    return largest;
  };
  for (const int64_t head : {1, 2}) {
    const auto self_fed_gradient = gradient(true, head),
               teacher_forced_gradient = gradient(false, head);
    for (const char* name : {"trimlp.0.linear.weight", "trimlp.0.linear.bias", "trimlp.1.weight"}) {
      EXPECT_EQ(self_fed_gradient.at(name), 0.0) << name;
      EXPECT_GT(teacher_forced_gradient.at(name), 0.0) << name;
    }
    EXPECT_GT(self_fed_gradient.at("layers.0.self_attn.k_proj.weight"), 0.0);
    EXPECT_GT(self_fed_gradient.at("layers.0.input_layernorm.weight"), 0.0);
  }
  EXPECT_GT(gradient(true, 0).at("trimlp.1.weight"), 0.0);
}

TEST_F(RunTest, KilledSelfFedChimeraContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/chimera", "chimera");
  run.recipe.steps = 60;
  run.recipe.settings["selffeed"] = "1";
  ExpectExactResume(run, 3 * 16);  // weights and two moments of 16 tensors
}

// Self-feeding changes the losses of later heads only: the first head always reads the text.
TEST_F(RunTest, SelfFeedingChangesOnlyLaterHeads) {
  MakeTarget(FileType::kQ8_0, 20);
  const auto losses = [&](const char* heads, const char* selffeed) {
    TrainOptions run =
        TinyDraftRun(directory_, directory_ + "/run_" + heads + "_" + selffeed, "chimera");
    run.recipe.steps = 3;
    run.recipe.settings["output_heads"] = heads;
    run.recipe.settings["selffeed"] = selffeed;
    const Status trained = Train(run);
    return trained.ok() ? Losses(run.out) : std::vector<std::string>{trained.error().message};
  };
  EXPECT_EQ(losses("1", "0"), losses("1", "1"));
  EXPECT_NE(losses("2", "0"), losses("2", "1"));
  EXPECT_EQ(losses("2", "2")[0], "selffeed is '2', expected a whole number from 0 to 1");
}

}  // namespace
}  // namespace foretoken::train
