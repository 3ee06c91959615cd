// Tests of the differentiable operations and of AdamW against libtorch and finite differences.
#include "ops.h"

#include <gtest/gtest.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <limits>

#include "ops_plain.h"
#include "ops_testing.h"
#include "optimizer.h"
#include "train_kernel_sets_testing.h"

namespace foretoken::train {
namespace {

// Runs with every kernel set that this CPU supports.
class OpsTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    torch::manual_seed(7);
    UseKernelSet(GetParam());
  }
  void TearDown() override { UseKernelSet(AvailableKernelSets() - 1); }
};
INSTANTIATE_TEST_SUITE_P(KernelSets, OpsTest, testing::Range(0, AvailableKernelSets()));

TEST_P(OpsTest, AddRmsNormMatchesPlain) {
  const Tensor h = Leaf({37, 48}), delta = Leaf({37, 48}), weight = Leaf({48});
  const Tensor mix = torch::randn({37, 48}), residual_mix = torch::randn({37, 48});
  const auto total = [&](const NormResult& r) {
    return (r.normed * mix).sum() + (r.residual * residual_mix).sum();
  };
  ExpectSame(
      {h, delta, weight},
      [&] { return total(AddRmsNorm(h, delta, weight, 1e-5, torch::kFloat32)); },
      [&] { return total(PlainAddRmsNorm(h, delta, weight, 1e-5, torch::kFloat32)); });
}

TEST_P(OpsTest, AddRmsNormWithoutDeltaMatchesPlain) {
  const Tensor h = Leaf({37, 48}), weight = Leaf({48}), mix = torch::randn({37, 48});
  ExpectSame(
      {h, weight},
      [&] { return (AddRmsNorm(h, {}, weight, 1e-5, torch::kFloat32).normed * mix).sum(); },
      [&] { return (PlainAddRmsNorm(h, {}, weight, 1e-5, torch::kFloat32).normed * mix).sum(); });
}

TEST_P(OpsTest, SwiGluMatchesPlain) {
  const Tensor x = Leaf({33, 64}, 3.0), mix = torch::randn({33, 32});
  ExpectSame(
      {x}, [&] { return (SwiGlu(x) * mix).sum(); }, [&] { return (PlainSwiGlu(x) * mix).sum(); });
}

TEST_P(OpsTest, LinearMatchesMatmul) {
  const Tensor x = Leaf({19, 16}), a = Leaf({8, 16}), b = Leaf({4, 16}), c = Leaf({4, 16});
  const Tensor mix = torch::randn({19, 16});
  const Tensor all = torch::cat({a, b, c}).detach();
  ExpectSame(
      {x, a, b, c},
      [&] {
        return (Linear(x, Matrix{{a, b, c}, all}) * mix).sum();
      },
      [&] {
        return (torch::matmul(x, torch::cat({a, b, c}).t()) * mix).sum();
      });
}

TEST_P(OpsTest, AttentionMatchesPlain) {
  AttentionShape s = SmallAttention();
  for (const int64_t rope_dim : {0, 6}) {
    SCOPED_TRACE(rope_dim);
    s.rope_dim = rope_dim;
    const Tensor qkv = Leaf({s.batch * s.length, s.width()});
    const Tensor mix = torch::randn({s.batch * s.length, s.heads * s.head_dim});
    const Tensor rope = RopeTable(s.length, s.rotary(), 10000.0), first = FirstKeys(s);
    ExpectSame(
        {qkv}, [&] { return (Attention(qkv, s, rope, first) * mix).sum(); },
        [&] { return (PlainAttention(qkv, s, rope, first) * mix).sum(); });
  }
}

// Dimensions beyond the RoPE table are copied unchanged.
TEST_P(OpsTest, DimensionsBeyondTheTableAreUnchanged) {
  const Tensor x = torch::randn({2, 3, 5, 8}), rope = RopeTable(5, 6, 10000.0);
  const Tensor rotated = PlainRotated(x, rope);
  EXPECT_TRUE(rotated.narrow(-1, 6, 2).equal(x.narrow(-1, 6, 2)));
  EXPECT_TRUE(rotated.narrow(-1, 0, 6).equal(PlainRotated(x.narrow(-1, 0, 6), rope)));
}

TEST_P(OpsTest, AttentionStaysInsideDocuments) {
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  Tensor qkv = torch::randn({s.batch * s.length, s.width()});
  const Tensor before = Attention(qkv, s, rope, first);
  qkv.narrow(0, 0, 5).normal_();   // the first document of the first sequence
  qkv.narrow(0, 23, 1).normal_();  // the last position of its third document
  const Tensor same = (Attention(qkv, s, rope, first) == before).all(1);
  for (int64_t row = 5; row < s.batch * s.length; ++row) {
    EXPECT_EQ(same[row].item<bool>(), row != 23) << row;
  }
}

TEST_P(OpsTest, EmbedMatchesPlain) {
  const Tensor table = Leaf({11, 32}), mix = torch::randn({50, 32});
  const Tensor ids = torch::randint(0, 11, {50}, torch::kInt32);
  ExpectSame(
      {table}, [&] { return (Embed(table, ids) * mix).sum(); },
      [&] { return (PlainEmbed(table, ids) * mix).sum(); });
}

Tensor ReferenceLoss(const Tensor& x, const Tensor& table, const Tensor& targets,
                     const Tensor& weights) {
  const Tensor log_probs = torch::log_softmax(torch::matmul(x, table.t()), -1);
  const Tensor chosen = log_probs.gather(1, targets.to(torch::kInt64).unsqueeze(1)).squeeze(1);
  return -(chosen * weights).sum();
}

TEST_P(OpsTest, LmLossMatchesAutograd) {
  const Tensor x = Leaf({41, 16}), table = Leaf({23, 16});
  const Tensor targets = torch::randint(0, 23, {41}, torch::kInt32);
  const Tensor weights = (torch::rand({41}) > 0.3).to(torch::kFloat32);
  ExpectSame(
      {x, table},
      [&] {
        return LmLoss(x, Matrix{{table}, table.detach()}, targets, weights, 0.25, 8) * 3.0;
      },
      [&] { return ReferenceLoss(x, table, targets, weights) * 0.25 * 3.0; });
}

TEST_P(OpsTest, LmLossOfAFrozenTableMatchesAutograd) {
  const Tensor x = Leaf({41, 16}), table = torch::randn({23, 16});
  const Tensor targets = torch::randint(0, 23, {41}, torch::kInt32), weights = torch::ones({41});
  ExpectSame(
      {x},
      [&] {
        return LmLoss(x, Matrix{{}, table}, targets, weights, 0.25, 8);
      },
      [&] { return ReferenceLoss(x, table, targets, weights) * 0.25; });
}

TEST_P(OpsTest, PlainCrossEntropyMatchesAutograd) {
  const Tensor x = Leaf({13, 16}), table = torch::eye(16);
  const Tensor targets = torch::randint(0, 16, {13}, torch::kInt32);
  const Tensor weights = torch::rand({13});
  const Tensor loss = ReferenceLoss(x, table, targets, weights) * 0.5;
  loss.backward();
  Tensor gradient = x.detach().clone();
  const Tensor losses = PlainCrossEntropy(gradient, targets, weights, 0.5);
  ExpectNear(losses.sum() * 0.5, loss.detach(), 1e-5);
  ExpectNear(gradient, GradOf(x), 1e-5);
}

TEST_P(OpsTest, AdamWMatchesLibtorch) {
  const Tensor ours = Leaf({300, 7});
  const Tensor theirs = ours.detach().clone().requires_grad_();
  const std::vector<NamedParameter> named = {{"w", ours, true}};
  OptimizerOptions options;
  options.clip = 0.0;
  Optimizer optimizer(named, options);
  torch::optim::AdamW reference({theirs}, torch::optim::AdamWOptions(0.01)
                                              .betas({options.beta1, options.beta2})
                                              .eps(options.eps)
                                              .weight_decay(options.weight_decay));
  for (int step = 1; step <= 5; ++step) {
    const Tensor gradient = torch::randn({300, 7});
    ours.mutable_grad() = gradient.clone();
    theirs.mutable_grad() = gradient.clone();
    EXPECT_NEAR(optimizer.Step(step, 0.01), gradient.norm().item<double>(), 1e-3);
    reference.step();
  }
  ExpectNear(ours.detach(), theirs.detach(), 1e-6);
}

TEST_P(OpsTest, ClippingByValueBoundsEveryEntry) {
  const Tensor gradient = torch::randn({40, 7});
  OptimizerOptions options;
  options.clip = 0.0;
  const Tensor bounded = Leaf({40, 7}), clipped = bounded.detach().clone().requires_grad_();
  const std::vector<NamedParameter> a = {{"w", bounded, true}}, b = {{"w", clipped, true}};
  Optimizer reference(a, options);
  options.clip_value = 0.5;
  Optimizer optimizer(b, options);
  // Two steps, because AdamW's first step does not depend on the magnitudes of the gradients.
  for (int step = 1; step <= 2; ++step) {
    bounded.mutable_grad() = gradient.clamp(-0.5, 0.5) * (step == 1 ? 1.0 : 0.2);
    clipped.mutable_grad() = step == 1 ? gradient.clone() : gradient.clamp(-0.5, 0.5) * 0.2;
    reference.Step(step, 0.01);
    optimizer.Step(step, 0.01);
  }
  ExpectNear(clipped.detach(), bounded.detach(), 1e-6);
}

TEST_P(OpsTest, NonFiniteGradientsChangeNothing) {
  const Tensor w = Leaf({4, 4});
  const Tensor before = w.detach().clone();
  const std::vector<NamedParameter> named = {{"w", w, true}};
  Optimizer optimizer(named, {});
  w.mutable_grad() = torch::full({4, 4}, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(std::isfinite(optimizer.Step(1, 0.1)));
  EXPECT_TRUE(torch::equal(w.detach(), before));
  EXPECT_FALSE(w.grad().defined());
}

TEST_P(OpsTest, GradientsMatchFiniteDifferences) {
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  const Tensor qkv = Leaf({s.batch * s.length, s.width()});
  const Tensor mix = torch::randn({s.batch * s.length, s.heads * s.head_dim});
  ExpectDirectionalDerivative(qkv, [&] { return (Attention(qkv, s, rope, first) * mix).sum(); });
  const Tensor x = Leaf({33, 64}), half = torch::randn({33, 32});
  ExpectDirectionalDerivative(x, [&] { return (SwiGlu(x) * half).sum(); });
  const Tensor weight = Leaf({64}), full = torch::randn({33, 64});
  const auto norm = [&] {
    return (AddRmsNorm(x, {}, weight, 1e-5, torch::kFloat32).normed * full).sum();
  };
  ExpectDirectionalDerivative(x, norm);
  ExpectDirectionalDerivative(weight, norm);
}

TEST_P(OpsTest, AttentionInBf16IsCloseToF32) {
  const AttentionShape s = SmallAttention();
  const Tensor rope = RopeTable(s.length, s.head_dim, 10000.0), first = FirstKeys(s);
  const Tensor a = Leaf({s.batch * s.length, s.width()});
  const Tensor b = a.detach().to(torch::kBFloat16).requires_grad_();
  const Tensor mix = torch::randn({s.batch * s.length, s.heads * s.head_dim});
  const Tensor full = Attention(a, s, rope, first), half = Attention(b, s, rope, first);
  ExpectNear(half.to(torch::kFloat32), full, 0.02);
  (full * mix).sum().backward();
  half.backward(mix.to(torch::kBFloat16));
  ExpectNear(GradOf(b).to(torch::kFloat32), GradOf(a), 0.03);
}

}  // namespace
}  // namespace foretoken::train
