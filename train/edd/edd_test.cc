// Tests of EDD's mask, loss and gradients, and of whole runs of EDD and VDM.
#include <gtest/gtest.h>

#include <cmath>

#include "draft_ops.h"
#include "edd/attention.h"
#include "edd/module.h"
#include "io/draft_file.h"
#include "ops_plain.h"
#include "ops_testing.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

// Returns a batch of one sequence with the given Batch::inner and Batch::first_key.
Batch Sequence(const std::vector<float>& inner, const std::vector<int32_t>& first_key) {
  Batch batch;
  batch.batch = 1;
  batch.length = static_cast<int64_t>(inner.size());
  batch.inner = torch::tensor(inner);
  batch.first_key = torch::tensor(first_key, torch::kInt32).view({1, -1});
  return batch;
}

std::vector<int32_t> Values(const Tensor& x) {
  return {x.data_ptr<int32_t>(), x.data_ptr<int32_t>() + x.numel()};
}

// BlockStarts gives the vector of E-19.
TEST(EddTest, BlocksBeginAtTheAnswer) {
  const Batch paper = Sequence({0, 0, 1, 1, 1, 1, 1}, std::vector<int32_t>(7, 0));
  EXPECT_EQ(Values(BlockStarts(paper, 2)), (std::vector<int32_t>{0, 1, 2, 2, 4, 4, 6}));
  EXPECT_EQ(Values(BlockStarts(paper, 10)), (std::vector<int32_t>{0, 1, 2, 2, 2, 2, 2}));
  // Two answers in one document, then a document with a loss from its beginning.
  const Batch packed = Sequence({1, 1, 1, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0, 0, 6, 6, 6});
  EXPECT_EQ(Values(BlockStarts(packed, 2)), (std::vector<int32_t>{0, 0, 2, 3, 4, 4, 6, 6, 8}));
  EXPECT_EQ(Values(StepStarts(packed.first_key, 2)),
            (std::vector<int32_t>{0, 0, 0, 1, 2, 3, 6, 6, 6}));
}

std::vector<int64_t> NonZeroRows(const Tensor& gradient) {
  const Tensor rows = gradient.abs().sum(1).nonzero().squeeze(1);
  return {rows.data_ptr<int64_t>(), rows.data_ptr<int64_t>() + rows.numel()};
}

// A query's output depends on exactly the tokens and states that it may attend to.
TEST(EddTest, QueriesAttendToTheirBlockAndEarlierStates) {
  torch::manual_seed(1);
  const AttentionShape s{1, 7, 2, 1, 4, 7};
  const Tensor rope = RopeTable(7, 4, 100.0);
  const Batch batch = Sequence({0, 0, 1, 1, 1, 1, 1}, std::vector<int32_t>(7, 0));
  const Tensor starts = BlockStarts(batch, 2);
  const Tensor tokens = Leaf({7, s.width()}), states = Leaf({7, 2 * s.kv_heads * s.head_dim});
  const std::vector<std::vector<int64_t>> blocks = {{0}, {1}, {2}, {2, 3}, {4}, {4, 5}, {6}};
  for (int64_t p = 0; p < 7; ++p) {
    SCOPED_TRACE(p);
    DualBlockAttention(tokens, states, s, rope, batch.first_key, starts, 2)[p].sum().backward();
    std::vector<int64_t> before(static_cast<size_t>(blocks[static_cast<size_t>(p)][0]));
    for (size_t r = 0; r < before.size(); ++r) before[r] = static_cast<int64_t>(r);
    EXPECT_EQ(NonZeroRows(GradOf(states)), before);
    EXPECT_EQ(NonZeroRows(GradOf(tokens)), blocks[static_cast<size_t>(p)]);
  }
}

// Attention computed in blocks of queries equals attention computed in one block, with several
// documents and grouped heads.
TEST(EddTest, QueryBlocksDoNotChangeTheResult) {
  torch::manual_seed(2);
  const AttentionShape s = SmallAttention();
  AttentionShape one_block = s;
  one_block.block = s.length;
  const Tensor rope = RopeTable(s.length, s.head_dim, 100.0), first = FirstKeys(s);
  Batch batch;
  batch.batch = s.batch;
  batch.length = s.length;
  batch.first_key = first;
  batch.inner = torch::rand({s.batch * s.length}).gt(0.2).to(torch::kFloat32);
  const Tensor starts = BlockStarts(batch, 5);
  const int64_t rows = s.batch * s.length;
  const Tensor tokens = Leaf({rows, s.width()}), states = Leaf({rows, 2 * s.kv_heads * s.head_dim});
  const Tensor mix = torch::randn({rows, s.heads * s.head_dim});
  ExpectSame(
      {tokens, states},
      [&] { return (DualBlockAttention(tokens, states, s, rope, first, starts, 5) * mix).sum(); },
      [&] {
        return (DualBlockAttention(tokens, states, one_block, rope, first, starts, s.length) * mix)
            .sum();
      });
}

// If every document is one block, no states are attended to, and the result is causal attention.
TEST(EddTest, OneBlockEqualsCausalAttention) {
  torch::manual_seed(3);
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 100.0), first = FirstKeys(s);
  const int64_t rows = s.batch * s.length;
  const Tensor tokens = torch::randn({rows, s.width()});
  const Tensor states = torch::randn({rows, 2 * s.kv_heads * s.head_dim});
  ExpectNear(DualBlockAttention(tokens, states, s, rope, first, first, s.length),
             PlainAttention(tokens, s, rope, first), 1e-5);
}

// The loss is KL(target || draft); the distributions are those of L-3.
TEST(EddTest, LossIsForwardKl) {
  const Tensor teacher = torch::tensor({{0.5f, 0.3f, 0.15f, 0.05f}}).log();
  const Tensor student = torch::tensor({{0.4f, 0.4f, 0.1f, 0.1f}}).log().requires_grad_();
  const Tensor identity = torch::eye(4);
  const Tensor loss = DistillationLoss(student, {{}, identity}, teacher, identity, 2.0, 8);
  EXPECT_NEAR(loss.item<double>(), 2 * 0.051430, 1e-5);
  loss.backward();
  ExpectNear(GradOf(student), 2.0 * (student.exp() - teacher.exp()).detach(), 1e-6);
}

// Compares gradients with finite differences.
TEST(EddTest, LossGradientsMatchFiniteDifferences) {
  torch::manual_seed(4);
  const Tensor x = Leaf({7, 8}), table = Leaf({11, 8});
  const Tensor features = torch::randn({7, 8}), teacher = torch::randn({11, 8});
  const auto loss = [&](int64_t chunk) {
    return DistillationLoss(x, {{table}, table.detach()}, features, teacher, 0.5, chunk);
  };
  ExpectSame(
      {x, table}, [&] { return loss(3); }, [&] { return loss(7); });
  ExpectDirectionalDerivative(x, [&] { return loss(3); });
  ExpectDirectionalDerivative(table, [&] { return loss(3); });
}

TEST_F(ParityTest, EddGradientsMatchFiniteDifferences) {
  EddModule module(*target_, {}, {torch::kFloat32, torch::kCPU, NormalWeights(4)});
  const Batch batch = RandomDocument(target_->shape().vocab, 16);
  HiddenState state{1, {}};
  const Tensor features = target_->Features(batch, &state);
  const EddInputs inputs{1, 16, batch.ids, batch.first_key, state.value, BlockStarts(batch, 5), 5};
  // Weights of this scale make the finite-difference step small enough.
  for (const NamedParameter& p : module.weights().parameters()) {
    torch::NoGradGuard no_grad;
    const double width = p.name == "embedding_layer.weight" ? 1.0 : p.value.size(-1);
    if (p.decays) p.value.normal_().div_(std::sqrt(width));
  }
  for (const NamedParameter& p : module.weights().parameters()) {
    SCOPED_TRACE(p.name);
    ExpectDirectionalDerivative(p.value, [&] {
      module.weights().Refresh();
      return DistillationLoss(module.Forward(inputs), module.head(), features, target_->head(), 1.0,
                              8);
    });
  }
}

TEST_F(RunTest, KilledEddRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/edd", "edd");
  run.recipe.steps = 60;
  run.recipe.settings["layer"] = "1";
  ExpectExactResume(run, 3 * 12);  // weights and two moments of 12 tensors
}

TEST_F(RunTest, EddAndVdmLearnAndExport) {
  MakeTarget(FileType::kF32);
  for (const bool encoder : {true, false}) {
    SCOPED_TRACE(encoder);
    const std::string out = directory_ + (encoder ? "/edd" : "/vdm");
    TrainOptions options = TinyDraftRun(directory_, out, "edd");
    options.recipe.settings["layer"] = "1";
    options.recipe.settings["encoder"] = encoder ? "1" : "0";
    options.recipe.settings["loss"] = encoder ? "kl" : "ce";
    options.recipe.settings["train_embedding"] = encoder ? "1" : "0";
    const auto [heldout, draft] = TrainDraft(options);
    ASSERT_NE(draft, nullptr);
    EXPECT_LT(heldout, encoder ? 1.0 : 3.0);
    EXPECT_EQ(draft->info().method, "edd");
    EXPECT_EQ(draft->info().taps, encoder ? std::vector<int>{1} : std::vector<int>{});
    EXPECT_EQ(draft->info().Shares(kSharedEmbedding), !encoder);
    EXPECT_FALSE(draft->info().Shares(kSharedHead));
    EXPECT_EQ(draft->tensors().size(), encoder ? 12u : 11u);
  }
}

// A hidden state that the target does not have is an error, and so is block_max < block_min.
TEST_F(RunTest, EddRefusesInvalidSettings) {
  MakeTarget(FileType::kF32);
  TrainOptions options = TinyDraftRun(directory_, directory_ + "/none", "edd");
  EXPECT_EQ(Train(options).error().message,
            "layer is '-4', expected a hidden state of the target: -3 to 2");
  options.recipe.settings["block_max"] = "4";
  EXPECT_EQ(Train(options).error().message, "block_max is '4', expected at least block_min ('5')");
}

}  // namespace
}  // namespace foretoken::train
