// Tests of Chimera: attention masks, gradients, whole runs, export.
#include <gtest/gtest.h>

#include <cmath>

#include "chimera/attention.h"
#include "chimera/module.h"
#include "io/draft_file.h"
#include "ops_plain.h"
#include "parity_testing.h"

namespace foretoken::train {
namespace {

std::string MaskRow(const Tensor& mask, int64_t row) {
  std::string text;
  for (int64_t c = 0; c < mask.size(1); ++c) text += mask[row][c].item<bool>() ? '1' : '0';
  return text;
}

// The masks of C-22. Columns: features 0 ... 4, then states 0 ... 4.
TEST(ContextMaskTest, HeadsAttendToWhatDraftsKnow) {
  const Tensor start = torch::zeros({5}, torch::kInt32);
  EXPECT_EQ(MaskRow(ContextMask(0, start), 1),
            "10000"
            "01000");
  EXPECT_EQ(MaskRow(ContextMask(0, start), 3),
            "11100"
            "01110");
  EXPECT_EQ(MaskRow(ContextMask(1, start), 3),
            "11000"
            "01110");
  EXPECT_EQ(MaskRow(ContextMask(2, start), 3),
            "10000"
            "01110");
  EXPECT_EQ(MaskRow(ContextMask(0, start), 0),
            "00000"
            "10000");
  const Tensor second = torch::tensor({0, 0, 2, 2, 2}, torch::kInt32);
  EXPECT_EQ(MaskRow(ContextMask(0, second), 4),
            "00110"
            "00011");
  EXPECT_EQ(MaskRow(ContextMask(1, second), 4),
            "00100"
            "00011");
}

// Compares every fifth query with a softmax over the keys that it may attend to.
TEST(ContextAttentionTest, EqualsSoftmaxOverVisibleKeys) {
  torch::manual_seed(4);
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  const int64_t rows = s.batch * s.length, queries = s.heads * s.head_dim;
  const Tensor states = torch::randn({rows, s.width()});
  const Tensor features = torch::randn({rows, s.width() - queries});
  const std::vector<Tensor> results = ContextAttention(states, features, 3, s, rope, first);
  const auto parts = [&](const Tensor& x, int64_t from, int64_t count) {
    return x.narrow(1, from * s.head_dim, count * s.head_dim)
        .reshape({s.batch, s.length, count, s.head_dim})
        .transpose(1, 2);
  };
  const Tensor q = PlainRotated(parts(states, 0, s.heads), rope);
  const Tensor k = torch::cat({PlainRotated(parts(features, 0, s.kv_heads), rope),
                               PlainRotated(parts(states, s.heads, s.kv_heads), rope)},
                              2);
  const Tensor v = torch::cat(
      {parts(features, s.kv_heads, s.kv_heads), parts(states, s.heads + s.kv_heads, s.kv_heads)},
      2);
  for (int64_t head = 0; head < 3; ++head) {
    const Tensor result = results[static_cast<size_t>(head)].view({s.batch, s.length, -1});
    for (int64_t b = 0; b < s.batch; ++b) {
      const Tensor mask = ContextMask(head, first[b]);
      for (int64_t p = 0; p < s.length; p += 5) {
        const Tensor visible = mask[p].nonzero().squeeze(1);
        for (int64_t h = 0; h < s.heads; ++h) {
          const int64_t kv = h / s.group();
          const Tensor keys = k[b][kv].index_select(0, visible);
          const Tensor probs = torch::softmax(
              torch::mv(keys, q[b][h][p]) / std::sqrt(static_cast<double>(s.head_dim)), 0);
          const Tensor mixed = torch::mv(v[b][kv].index_select(0, visible).t(), probs);
          ExpectNear(result[b][p].narrow(0, h * s.head_dim, s.head_dim), mixed, 1e-5);
        }
      }
    }
  }
}

// Distance is the mean over all tokens except the first of each document.
TEST_F(ParityTest, ChimeraDistanceSkipsFirstTokens) {
  torch::NoGradGuard no_grad;
  Batch batch = RandomDocument(target_->shape().vocab, 6);
  batch.first_key = torch::tensor({0, 0, 0, 3, 3, 5}, torch::kInt32).view({1, -1});
  const Tensor features = target_->Features(batch);
  ChimeraModule module(*target_, {2, 3, true}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const ChimeraContext context = module.Encode(batch, features);
  double sum = 0.0;
  for (const int64_t row : {1, 2, 4}) {
    const Tensor output = module.Output(context, 0, torch::full({1}, row, torch::kInt64));
    sum += (output[0] - features[row]).square().mean().item<double>();
  }
  EXPECT_NEAR(module.Distance(batch, context, features).item<double>(), sum / 3, 1e-6 * sum);
}

TEST_F(ParityTest, ChimeraGradientsMatchFiniteDifferences) {
  const Batch batch = RandomDocument(target_->shape().vocab, 12);
  const Tensor features = target_->Features(batch);
  ChimeraModule module(*target_, {3, 3, true}, {torch::kFloat32, torch::kCPU, NormalWeights(3)});
  const Tensor mix = torch::randn({3, 12, target_->shape().hidden});
  const Tensor rows = torch::arange(1, 12, torch::kInt64);
  for (const NamedParameter& p : module.weights().parameters()) {
    SCOPED_TRACE(p.name);
    ExpectDirectionalDerivative(
        p.value,
        [&] {
          module.weights().Refresh();
          const ChimeraContext context = module.Encode(batch, features);
          Tensor sum = module.Distance(batch, context, features);
          for (int64_t k = 0; k < 3; ++k) {
            const Tensor outputs = module.Output(context, k, rows);
            const Tensor states = module.States(k, features.index_select(0, rows), outputs);
            sum = sum + (states * mix[k].narrow(0, 1, 11)).sum();
          }
          return sum;
        },
        /*step=*/1e-3);
  }
}

TEST_F(RunTest, KilledChimeraRunContinuesBitForBit) {
  MakeTarget(FileType::kQ8_0, 20);
  TrainOptions run = TinyDraftRun(directory_, directory_ + "/chimera", "chimera");
  run.recipe.steps = 60;
  ExpectExactResume(run, 3 * 16);  // weights and two moments of 16 tensors
}

TEST_F(RunTest, ChimeraLearnsAndExports) {
  MakeTarget(FileType::kF32);
  for (const bool shared : {false, true}) {
    SCOPED_TRACE(shared);
    const std::string out = directory_ + (shared ? "/shared" : "/own");
    TrainOptions options = TinyDraftRun(directory_, out, "chimera");
    options.recipe.settings["shared_output"] = shared ? "1" : "0";
    const auto [heldout, draft] = TrainDraft(options);
    ASSERT_NE(draft, nullptr);
    EXPECT_LT(heldout, 4.5);  // starts at log(320) = 5.8
    EXPECT_EQ(draft->info().output_heads, 4);
    EXPECT_EQ(draft->info().ngram, 3);
    EXPECT_TRUE(draft->info().Shares(kSharedEmbedding));
    EXPECT_EQ(draft->info().Shares(kSharedHead), shared);
    EXPECT_TRUE(draft->Has(shared ? "head.3.proj.weight" : "head.3.output.weight"));
    EXPECT_TRUE(draft->Has("ngram.res.bias"));
    EXPECT_TRUE(draft->Has("blk.0.attn_norm.weight"));
    EXPECT_EQ(draft->tensors().size(), 16u);
  }
}

// An n-gram length that is out of range is an error.
TEST_F(RunTest, ChimeraRefusesNgramOutOfRange) {
  TrainOptions options = TinyDraftRun(directory_, directory_ + "/none", "chimera");
  options.recipe.settings["ngram"] = "6";
  EXPECT_EQ(Train(options).error().message, "ngram is '6', expected a whole number from 1 to 5");
}

}  // namespace
}  // namespace foretoken::train
