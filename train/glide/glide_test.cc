// Tests of GLIDE: masks over the target's positions, cross-attention, gradients, whole runs.
#include <gtest/gtest.h>

#include "glide/cross_attention.h"
#include "glide/module.h"
#include "io/draft_file.h"
#include "ops_testing.h"
#include "run_testing.h"

namespace foretoken::train {
namespace {

Tensor Ints(std::vector<int32_t> values) {
  return torch::tensor(values, torch::kInt32).view({1, -1});
}

// The vectors of G-19: blocks of L = 3 in T = 7 positions, then with a document that begins at
// position 2, then blocks of one position.
TEST(GlideMaskTest, BlocksAttendToEarlierBlocks) {
  const Tensor one_document = torch::zeros({1, 7}, torch::kInt32);
  EXPECT_TRUE(BlockKeys(one_document, 3).equal(Ints({0, 1, 2, 2, 2, 2, 5})));
  EXPECT_TRUE(
      BlockKeys(Ints({0, 0, 2, 2, 2, 2, 2, 2, 2}), 3).equal(Ints({0, 1, 2, 3, 4, 4, 4, 4, 7})));
  EXPECT_TRUE(BlockKeys(one_document, 1).equal(Ints({0, 0, 1, 2, 3, 4, 5})));
}

// The root and the tokens drafted after it attend to the positions before the root.
TEST(GlideMaskTest, StepsAttendToPositionsBeforeTheRoot) {
  const Tensor one_document = torch::zeros({1, 6}, torch::kInt32);
  EXPECT_TRUE(StepKeys(one_document, 0).equal(Ints({0, 0, 1, 2, 3, 4})));
  EXPECT_TRUE(StepKeys(one_document, 2).equal(Ints({0, 0, 0, 0, 1, 2})));
  EXPECT_TRUE(StepKeys(one_document, 0).equal(BlockKeys(one_document, 1)));
}

class CrossAttentionTest : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(3); }

  AttentionShape s_ = SmallAttention();
  Tensor rope_ = RopeTable(s_.length, s_.head_dim, 100.0);
  Tensor first_ = FirstKeys(s_);
  Tensor q_ = Leaf({s_.batch * s_.length, s_.heads* s_.head_dim});
  Tensor keys_values_ = torch::randn({s_.batch * s_.length, 2 * s_.kv_heads* s_.head_dim});
};

// CrossAttention and its gradients equal PlainCrossAttention and its gradients.
TEST_F(CrossAttentionTest, MatchesPlainOperations) {
  const Tensor mix = torch::randn_like(q_.detach());
  for (const Tensor& last : {BlockKeys(first_, 4), StepKeys(first_, 3)}) {
    ExpectSame(
        {q_},
        [&] { return (CrossAttention(q_, keys_values_, s_, rope_, first_, last) * mix).sum(); },
        [&] {
          return (PlainCrossAttention(q_, keys_values_, s_, rope_, first_, last) * mix).sum();
        });
  }
}

// Changed keys and values at a position change the rows that may attend to it, and no others.
TEST_F(CrossAttentionTest, RowsDependOnVisibleKeysOnly) {
  torch::NoGradGuard no_grad;
  const Tensor last = BlockKeys(first_, 4);
  const Tensor before = CrossAttention(q_, keys_values_, s_, rope_, first_, last);
  for (int64_t key = 0; key < s_.length; ++key) {
    const Tensor changed = keys_values_.clone();
    changed[s_.length + key] += 1.0;  // of the second sequence
    const Tensor after = CrossAttention(q_, changed, s_, rope_, first_, last);
    const Tensor differs = (after - before).abs().amax(1).gt(1e-6);
    for (int64_t row = 0; row < 2 * s_.length; ++row) {
      const int64_t p = row - s_.length;
      const bool is_visible =
          p >= 0 && first_[1][p].item<int64_t>() <= key && key <= last[1][p].item<int64_t>();
      ASSERT_EQ(differs[row].item<bool>(), is_visible) << "row " << row << " key " << key;
    }
  }
}

TEST(GlideTest, GradientsMatchFiniteDifferences) {
  torch::manual_seed(6);
  LlamaShape target;
  target.heads = 4;
  target.kv_heads = 2;
  target.head_dim = 8;
  LlamaShape draft = target;
  draft.vocab = 29;
  draft.layers = 2;
  draft.hidden = 8;
  draft.ffn = 12;
  draft.heads = draft.kv_heads = 2;
  draft.head_dim = 4;
  GlideModule module({draft, target, true}, {torch::kFloat32, torch::kCPU, NormalWeights(4)});
  const int64_t length = 16;
  for (const NamedParameter& p : module.weights().parameters()) {
    torch::NoGradGuard no_grad;
    if (p.decays) p.value.mul_(10.0);  // so that every part affects the output
  }
  module.weights().Refresh();
  const Tensor first = torch::zeros({1, length}, torch::kInt32);
  const GlideInputs inputs{1,
                           length,
                           torch::randint(0, draft.vocab, {length}, torch::kInt32),
                           first,
                           {torch::randn({length, 32}), torch::randn({length, 32})},
                           BlockKeys(first, 5)};
  const Tensor targets = torch::randint(0, draft.vocab, {length}, torch::kInt32);
  for (const NamedParameter& p : module.weights().parameters()) {
    SCOPED_TRACE(p.name);
    ExpectDirectionalDerivative(p.value, [&] {
      module.weights().Refresh();
      return LmLoss(module.Forward(inputs), module.head(), targets, torch::ones({length}),
                    1.0 / static_cast<double>(length), /*chunk=*/6);
    });
  }
}

TEST_F(RunTest, KilledGlideRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  ExpectExactResume(TinyDraftRun(directory_, directory_ + "/glide", "glide"), 3 * 14);
}

// A GLIDE draft has cross-attention to the target, a Vanilla draft has none.
TEST_F(RunTest, OnlyGlideHasCrossAttention) {
  MakeTarget(FileType::kF32);
  const auto train = [&](const std::string& method, std::map<std::string, std::string> settings) {
    TrainOptions options = TinyDraftRun(directory_, directory_ + "/" + method, method);
    options.recipe.steps = 12;
    options.recipe.eval_every = 6;
    options.recipe.settings.merge(settings);
    return TrainDraft(options).file;
  };
  const auto glide = train("glide", {{"draft_hidden", "96"}, {"draft_heads", "6"}, {"block", "4"}});
  ASSERT_NE(glide, nullptr);
  const DraftInfo& info = glide->info();
  EXPECT_EQ(info.method, "glide");
  EXPECT_EQ(info.kv_layers, std::vector<int>{1});
  EXPECT_EQ(info.block_size, 4);
  EXPECT_EQ(info.blocks.hidden, 96);
  EXPECT_EQ(info.blocks.kv_heads, 6);
  EXPECT_EQ(info.blocks.head_dim, 16);
  EXPECT_TRUE(info.shared.empty());
  EXPECT_TRUE(glide->Has("blk.0.cross_q.weight"));
  const auto vanilla = train("vanilla", {{"draft_layers", "2"}});
  ASSERT_NE(vanilla, nullptr);
  EXPECT_EQ(vanilla->info().method, "glide");
  EXPECT_TRUE(vanilla->info().kv_layers.empty());
  EXPECT_EQ(vanilla->info().blocks.layers, 2);
  EXPECT_FALSE(vanilla->Has("blk.0.cross_q.weight"));
  EXPECT_EQ(vanilla->tensors().size(), 3u + 2u * 9u);
}

TEST_F(RunTest, GlideRefusesInvalidSettings) {
  MakeTarget(FileType::kF32);
  const auto error_of = [&](const std::string& name, const std::string& value) {
    TrainOptions options = TinyDraftRun(directory_, directory_ + "/none", "glide");
    options.recipe.settings[name] = value;
    const Status status = Train(options);
    return status.ok() ? "trained" : status.error().message;
  };
  EXPECT_EQ(error_of("kv_layer", "3"), "kv_layer is 3, expected 1 to 2");
  EXPECT_EQ(error_of("draft_layers", "3"),
            "draft_layers is 3, expected at most one for each of the target's 2");
  EXPECT_NE(error_of("draft_heads", "7").find("an even width of each head"), std::string::npos);
  EXPECT_NE(error_of("block", "0").find("block"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::train
