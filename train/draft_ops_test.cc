// Tests of drafters' operations and losses against the test vectors of H-25 and L-3, libtorch
// operations, and finite differences.
#include "draft_ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "eagle/loss.h"
#include "ops.h"
#include "ops_plain.h"
#include "ops_testing.h"
#include "train_kernel_sets_testing.h"

namespace foretoken::train {
namespace {

std::vector<int64_t> Row(const Tensor& sources, int64_t row) {
  const Tensor values = sources[row].contiguous();
  return {values.data_ptr<int64_t>(), values.data_ptr<int64_t>() + values.numel()};
}

// Returns the mask of AlignedAttention for one sequence: [length, length] int64, the source from
// which query p (row) takes key c (column), or -1 if it does not attend to the key.
Tensor AlignmentSources(int64_t sources, const Tensor& first_key) {
  const Tensor pos = torch::arange(first_key.size(0), first_key.options()).to(torch::kInt64);
  const Tensor distance = pos.unsqueeze(1) - pos.unsqueeze(0);  // p - c
  const Tensor source = (sources - 1 - distance).clamp_min(0);
  const Tensor hidden = distance.lt(0).logical_or(pos.unsqueeze(0).lt(first_key.unsqueeze(1)));
  return source.masked_fill(hidden, -1);
}

// Computes AlignedAttention with the mask of AlignmentSources: computes the scores with the keys of
// every source, and uses those of one source in each column.
Tensor DenseAlignedAttention(const Tensor& qkv, int64_t sources, const AttentionShape& s,
                             const Tensor& rope, const Tensor& first_key) {
  const Tensor heads =
      qkv.view({sources, s.batch, s.length, s.heads + 2 * s.kv_heads, s.head_dim}).transpose(2, 3);
  const auto repeat = [&](const Tensor& x) { return x.repeat_interleave(s.group(), 2); };
  const Tensor q = PlainRotated(heads[sources - 1].narrow(1, 0, s.heads), rope);
  const Tensor k = repeat(PlainRotated(heads.narrow(2, s.heads, s.kv_heads), rope));
  const Tensor v = repeat(heads.narrow(2, s.heads + s.kv_heads, s.kv_heads));
  const Tensor scores = torch::matmul(q.unsqueeze(0), k.transpose(-1, -2)) /
                        std::sqrt(static_cast<double>(s.head_dim));
  std::vector<Tensor> chosen;
  for (int64_t b = 0; b < s.batch; ++b) chosen.push_back(AlignmentSources(sources, first_key[b]));
  const Tensor source = torch::stack(chosen).unsqueeze(1);  // [batch, 1, length, length]
  Tensor masked = scores[0].masked_fill(source.ne(0), -std::numeric_limits<float>::infinity());
  for (int64_t i = 1; i < sources; ++i) masked = torch::where(source.eq(i), scores[i], masked);
  const Tensor probs = torch::softmax(masked, -1);
  Tensor mixed = torch::matmul(probs * source.eq(0), v[0]);
  for (int64_t i = 1; i < sources; ++i) mixed = mixed + torch::matmul(probs * source.eq(i), v[i]);
  return mixed.transpose(1, 2).reshape({s.batch * s.length, s.heads * s.head_dim});
}

// Runs with every kernel set that this CPU supports.
class DraftOpsTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    torch::manual_seed(11);
    UseKernelSet(GetParam());
  }
  void TearDown() override { UseKernelSet(AvailableKernelSets() - 1); }
};
INSTANTIATE_TEST_SUITE_P(KernelSets, DraftOpsTest, testing::Range(0, AvailableKernelSets()));

// The test vectors of H-25: one document of T = 5 tokens. Values: -1 where a key is not attended
// to, 0 where it comes from the target's feature, i where it comes from pass i.
TEST_P(DraftOpsTest, AlignmentMatchesTheTestVectors) {
  const Tensor start = torch::zeros({5}, torch::kInt32);
  const auto row = [&](int64_t sources, int64_t r) {
    return Row(AlignmentSources(sources, start), r);
  };
  using testing::ElementsAre;
  EXPECT_THAT(row(1, 3), ElementsAre(0, 0, 0, 0, -1));
  EXPECT_THAT(row(2, 3), ElementsAre(0, 0, 0, 1, -1));
  EXPECT_THAT(row(3, 0), ElementsAre(2, -1, -1, -1, -1));
  EXPECT_THAT(row(3, 1), ElementsAre(1, 2, -1, -1, -1));
  EXPECT_THAT(row(3, 4), ElementsAre(0, 0, 0, 1, 2));
  EXPECT_THAT(row(4, 4), ElementsAre(0, 0, 1, 2, 3));
}

TEST_P(DraftOpsTest, AlignmentStaysInsideDocuments) {
  const Tensor start = torch::tensor({0, 0, 2, 2, 2}, torch::kInt32);
  EXPECT_THAT(Row(AlignmentSources(3, start), 3), testing::ElementsAre(-1, -1, 1, 2, -1));
}

TEST_P(DraftOpsTest, AlignedAttentionMatchesPlainAndDense) {
  AttentionShape s = SmallAttention();
  s.rope_dim = 6;
  const Tensor rope = RopeTable(s.length, s.rotary(), 10000.0), first = FirstKeys(s);
  const Tensor mix = torch::randn({s.batch * s.length, s.heads * s.head_dim});
  for (int64_t sources = 1; sources <= 4; ++sources) {
    SCOPED_TRACE(sources);
    const Tensor qkv = Leaf({sources * s.batch * s.length, s.width()});
    ExpectSame(
        {qkv}, [&] { return (AlignedAttention(qkv, sources, s, rope, first) * mix).sum(); },
        [&] { return (PlainAlignedAttention(qkv, sources, s, rope, first) * mix).sum(); });
    ExpectSame(
        {qkv}, [&] { return (AlignedAttention(qkv, sources, s, rope, first) * mix).sum(); },
        [&] { return (DenseAlignedAttention(qkv, sources, s, rope, first) * mix).sum(); });
  }
}

// With one source, aligned attention is causal attention.
TEST_P(DraftOpsTest, OneSourceIsCausalAttention) {
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  const Tensor qkv = torch::randn({s.batch * s.length, s.width()});
  ExpectNear(AlignedAttention(qkv, 1, s, rope, first), Attention(qkv, s, rope, first), 1e-6);
}

TEST_P(DraftOpsTest, AlignedAttentionGradientMatchesFiniteDifferences) {
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  const Tensor mix = torch::randn({s.batch * s.length, s.heads * s.head_dim});
  const Tensor qkv = Leaf({3 * s.batch * s.length, s.width()});
  ExpectDirectionalDerivative(
      qkv, [&] { return (AlignedAttention(qkv, 3, s, rope, first) * mix).sum(); });
}

TEST_P(DraftOpsTest, AlignedAttentionInBf16IsCloseToF32) {
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  const Tensor a = Leaf({3 * s.batch * s.length, s.width()});
  const Tensor b = a.detach().to(torch::kBFloat16).requires_grad_();
  const Tensor mix = torch::randn({s.batch * s.length, s.heads * s.head_dim});
  const Tensor full = AlignedAttention(a, 3, s, rope, first);
  const Tensor half = AlignedAttention(b, 3, s, rope, first);
  ExpectNear(half.to(torch::kFloat32), full, 0.02);
  (full * mix).sum().backward();
  half.backward(mix.to(torch::kBFloat16));
  ExpectNear(GradOf(b).to(torch::kFloat32), GradOf(a), 0.03);
}

// The test vectors of L-3, with logits whose softmax gives P and S.
TEST_P(DraftOpsTest, LossesMatchTheTestVectors) {
  const Tensor p = torch::tensor({0.5, 0.3, 0.15, 0.05}, torch::kFloat32).view({1, 4});
  const Tensor s = torch::tensor({0.4, 0.4, 0.1, 0.1}, torch::kFloat32).view({1, 4});
  const auto loss = [&](double soft, double hard, int64_t top) {
    const Tensor targets = DistillationTargets(p.log(), soft, hard, top);
    return SoftCrossEntropy(s.log(), targets, 1.0).item<double>();
  };
  EXPECT_NEAR(loss(1.0, 0.0, 2), 1.193550, 1e-5);
  EXPECT_NEAR(loss(0.0, 1.0, 2), 0.733033, 1e-5);
  EXPECT_NEAR(loss(0.1, 2.0, 2), 0.1193550 + 1.466066, 1e-5);
  const double entropy = -(p * p.log()).sum().item<double>();
  EXPECT_NEAR(loss(1.0, 0.0, 0) - entropy, 0.051430, 1e-5);  // KL(P || S)
}

// The SmoothL1 values of L-3.
TEST_P(DraftOpsTest, SmoothL1MatchesTheTestVectors) {
  EagleLossOptions options;
  options.soft = 0.0;
  EagleLossParts parts;
  const Tensor features = torch::zeros({2, 1}), head = torch::ones({3, 1});
  const Tensor loss_rows = torch::zeros({1}, torch::kInt64);
  for (const auto& [x, expected] : {std::pair{0.2, 0.02}, {1.0, 0.5}, {-3.0, 2.5}}) {
    const Tensor outputs = torch::full({2, 1}, x);
    EXPECT_NEAR(
        EagleLoss(outputs, {features, head, loss_rows, {}}, options, 1.0, 8, parts).item<double>(),
        expected, 1e-6);
  }
}

TEST_P(DraftOpsTest, TiesGoToTheLowestTokens) {
  const Tensor logits = torch::zeros({1, 200});
  const Tensor targets = DistillationTargets(logits, 0.0, 1.0, 3);
  EXPECT_EQ(targets.count_nonzero().item<int64_t>(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(targets[0][i].item<double>(), 1.0 / 200, 1e-7);
}

TEST_P(DraftOpsTest, HardTargetsCoverTheMostLikelyTokens) {
  const Tensor logits = torch::randn({7, 500});
  const Tensor targets = DistillationTargets(logits, 0.0, 1.0, 10);
  const Tensor p = torch::softmax(logits, -1);
  const auto [best, ids] = p.topk(10, -1);
  ExpectNear(targets, torch::zeros_like(p).scatter(1, ids, best), 1e-6);
}

// The EAGLE loss as defined, differentiated by libtorch's autograd.
Tensor ReferenceLoss(const Tensor& outputs, const Tensor& features, const Tensor& head,
                     const Tensor& loss_rows, const EagleLossOptions& options, double scale) {
  const int64_t rows = features.size(0);
  const Tensor wanted = features.index_select(0, loss_rows + 1);
  const Tensor p = torch::softmax(torch::matmul(wanted, head.t()), -1);
  const auto [best, ids] = p.topk(options.objective_options.top, -1);
  Tensor total = torch::zeros({});
  for (size_t pass = 0; pass < options.pass_weights.size(); ++pass) {
    const Tensor guess = outputs.index_select(0, loss_rows + static_cast<int64_t>(pass) * rows);
    const Tensor log_q = torch::log_softmax(torch::matmul(guess, head.t()), -1);
    const Tensor feature = torch::smooth_l1_loss(guess, wanted, at::Reduction::None).mean(1).sum();
    const Tensor soft = -(p * log_q).sum();
    const Tensor hard = -(best * log_q.gather(1, ids)).sum();
    total = total + options.pass_weights[pass] *
                        (options.feature * feature + options.soft * soft + options.hard * hard);
  }
  return total * scale;
}

TEST_P(DraftOpsTest, EagleLossMatchesAutograd) {
  EagleLossOptions options;
  options.hard = 1.0;
  options.objective_options.top = 3;
  options.pass_weights = {1.0, 0.5, 0.25};
  const Tensor outputs = Leaf({3 * 20, 8}, 2.0), features = torch::randn({20, 8});
  const Tensor head = torch::randn({31, 8});
  const Tensor loss_rows = torch::tensor({0, 1, 2, 5, 6, 7, 8, 11, 18}, torch::kInt64);
  EagleLossParts parts;
  const auto ours = [&] {
    return EagleLoss(outputs, {features, head, loss_rows, {}}, options, 0.5, 4, parts);
  };
  ExpectSame(
      {outputs}, [&] { return ours() * 3.0; },
      [&] { return ReferenceLoss(outputs, features, head, loss_rows, options, 0.5) * 3.0; });
  EXPECT_NEAR(ours().item<double>(), 0.5 * (parts.feature_loss + parts.token_loss), 1e-3);
  ExpectDirectionalDerivative(outputs, ours);
  const double unnormalised = parts.feature_loss;
  options.normalised_features = true;
  ExpectDirectionalDerivative(outputs, ours);
  EXPECT_GT(std::abs(parts.feature_loss - unnormalised), 1e-3);
}

// With normalised features, scaling a dimension by ten does not change its part of the loss.
TEST_P(DraftOpsTest, NormalisedFeatureLossIgnoresScale) {
  EagleLossOptions options;
  options.soft = 0.0;
  options.normalised_features = true;
  const Tensor outputs = torch::randn({20, 8}), features = torch::randn({20, 8});
  const Tensor head = torch::randn({31, 8});
  const Tensor loss_rows = torch::arange(19, torch::kInt64);
  Tensor factors = torch::ones({8});
  factors[3] = 10.0;
  const auto loss = [&](const Tensor& scale) {
    EagleLossParts parts;
    return EagleLoss(outputs * scale, {features * scale, head, loss_rows, {}}, options, 1.0, 8,
                     parts)
        .item<double>();
  };
  EXPECT_NEAR(loss(factors), loss(torch::ones({8})), 1e-3);
}

}  // namespace
}  // namespace foretoken::train
