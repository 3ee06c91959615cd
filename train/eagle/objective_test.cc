// Tests of HASS's objectives on likely tokens: values by hand, gradients by finite differences.
#include "eagle/objective.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <cmath>

#include "eagle/loss.h"
#include "method.h"
#include "ops_testing.h"

namespace foretoken::train {
namespace {

// Returns the objective's loss for the distributions of L-3.
double Loss(std::string_view name, const ObjectiveOptions& options) {
  const Tensor p = torch::tensor({0.5, 0.3, 0.15, 0.05}, torch::kFloat32).view({1, 4});
  const Tensor s = torch::tensor({0.4, 0.4, 0.1, 0.1}, torch::kFloat32).view({1, 4});
  return FindObjective(name)->loss(p.log(), s.log(), options).item<double>();
}

TEST(ObjectiveTest, MatchesValuesByHand) {
  const double top2 = 0.733033;  // -.5 log .4 - .3 log .4
  EXPECT_NEAR(Loss("topp", {.mass = 0.7}), top2, 1e-5);
  EXPECT_NEAR(Loss("topp", {.mass = 0.4}), -0.5 * std::log(0.4), 1e-5);
  EXPECT_NEAR(Loss("topp", {.mass = 0.9}), top2 - 0.15 * std::log(0.1), 1e-5);
  EXPECT_NEAR(Loss("normed_topk_linear", {.top = 2}), std::log(2.0), 1e-5);
  EXPECT_NEAR(Loss("normed_topk_linear", {.top = 4}), 1.193550, 1e-5);
  EXPECT_NEAR(Loss("normed_topk_softmax", {.top = 2}), std::log(2.0), 1e-5);
  // softmax(.5, .3, .15) = (.39625, .32442, .27924), softmax(.4, .4, .1) = (.36483, .36483, .27027)
  EXPECT_NEAR(Loss("normed_topk_softmax", {.top = 3}),
              -(0.39624 + 0.32442) * std::log(0.36483) - 0.27923 * std::log(0.27027), 1e-3);
  EXPECT_NEAR(Loss("bidirectional_topk", {.top = 2}), top2, 1e-5);
  // The draft's logits of tokens 1, 2 and 3 minus that of token 0 are log 1, log 1/4 and log 1/4;
  // sigmoid(log r) = r / (1 + r).
  const double rank = 1 + 0.5 + 0.2 + 0.2;
  EXPECT_NEAR(Loss("recall", {.top = 1}), 1 - 1 / (1 + std::exp(rank - 1)), 1e-5);
  // Two logits have one difference, and a softmax over one value is 1 in both distributions.
  EXPECT_NEAR(Loss("bild", {.top = 2}), 0.0, 1e-6);
  EXPECT_GT(Loss("bild", {.top = 3}), 0.01);
}

// bidirectional_topk sums over the union of the target's and the draft's top K.
TEST(ObjectiveTest, BidirectionalTopKUsesBothTops) {
  const Tensor p = torch::tensor({0.6, 0.3, 0.1}, torch::kFloat32).view({1, 3});
  const Tensor s = torch::tensor({0.1, 0.3, 0.6}, torch::kFloat32).view({1, 3});
  EXPECT_NEAR(
      FindObjective("bidirectional_topk")->loss(p.log(), s.log(), {.top = 1}).item<double>(),
      -0.6 * std::log(0.1) - 0.1 * std::log(0.6), 1e-5);
}

// For a draft with the target's logits, bild is 0, and recall is below 1/2 if those logits are
// sharp.
TEST(ObjectiveTest, AgreementHasLowLoss) {
  const Tensor logits = torch::randn({5, 30});
  const ObjectiveOptions options{.top = 5};
  EXPECT_LT(FindObjective("bild")->loss(logits, logits, options).abs().max().item<double>(), 1e-6);
  const Tensor sharp = logits * 100;
  EXPECT_LT(FindObjective("recall")->loss(sharp, sharp, options).max().item<double>(), 0.5);
}

// With each objective, EagleLoss is the weighted sum of the objective over passes, and its gradient
// matches finite differences.
TEST(ObjectiveTest, EagleLossMatchesObjectivesAndGradients) {
  torch::manual_seed(3);
  const Tensor outputs = Leaf({2 * 20, 8}), features = torch::randn({20, 8});
  const Tensor head = torch::randn({31, 8});
  const Tensor loss_rows = torch::tensor({0, 1, 2, 5, 6, 7, 8, 11, 18}, torch::kInt64);
  for (const ObjectiveEntry& entry : AllObjectives()) {
    SCOPED_TRACE(entry.name);
    EagleLossOptions options;
    options.feature = options.soft = 0.0;
    options.hard = 2.0;
    options.objective = entry.loss;
    options.objective_options = {.top = 4, .mass = 0.8};
    options.pass_weights = {1.0, 0.5};
    EagleLossParts parts;
    const auto loss = [&] {
      return EagleLoss(outputs, {features, head, loss_rows, {}}, options, 0.5, 4, parts);
    };
    const double value = loss().item<double>();
    EXPECT_NEAR(value, 0.5 * parts.token_loss, 1e-3);
    // A small step, because the loss jumps where the draft's top K changes.
    ExpectDirectionalDerivative(outputs, loss, /*step=*/1e-3);
    if (entry.loss == nullptr) continue;
    double expected = 0.0;
    for (int64_t pass = 0; pass < 2; ++pass) {
      const Tensor target_logits = torch::matmul(features.index_select(0, loss_rows + 1), head.t());
      const Tensor draft_logits =
          torch::matmul(outputs.detach().index_select(0, loss_rows + 20 * pass), head.t());
      expected +=
          options.pass_weights[static_cast<size_t>(pass)] *
          entry.loss(target_logits, draft_logits, options.objective_options).sum().item<double>();
    }
    EXPECT_NEAR(value, 0.5 * 2.0 * expected, 1e-3 * std::abs(expected));
  }
}

// The choices of HASS's setting `objective` are a separate list, which must name every objective.
TEST(ObjectiveTest, SettingListsEveryObjective) {
  for (const Setting& setting : FindMethod("hass")->settings) {
    if (setting.name != std::string("objective")) continue;
    std::string names;
    for (const ObjectiveEntry& entry : AllObjectives()) {
      names += (names.empty() ? "" : " ") + std::string(entry.name);
    }
    EXPECT_EQ(setting.range.choices, names);
  }
}

// Rows of token weight 0 have feature losses but no token losses, with every objective.
TEST(ObjectiveTest, TokenWeightsDoNotScaleFeatureLosses) {
  torch::manual_seed(12);
  const Tensor outputs = Leaf({20, 8}), features = torch::randn({20, 8});
  const Tensor head = torch::randn({31, 8});
  const Tensor loss_rows = torch::tensor({0, 3, 4, 11}, torch::kInt64);
  const Tensor weighted_rows = torch::tensor({0, 4}, torch::kInt64);
  Tensor weight = torch::zeros({20});
  weight.index_fill_(0, weighted_rows, 1.0);
  for (const ObjectiveEntry& entry : AllObjectives()) {
    SCOPED_TRACE(entry.name);
    EagleLossOptions options;
    options.hard = 2.0;
    options.objective = entry.loss;
    options.objective_options = {.top = 4, .mass = 0.8};
    EagleLossParts weighed, all, chosen;
    const Tensor loss =
        EagleLoss(outputs, {features, head, loss_rows, weight}, options, 1.0, 3, weighed);
    const Tensor gradient = torch::autograd::grad({loss}, {outputs})[0];
    EagleLoss(outputs, {features, head, loss_rows, {}}, options, 1.0, 3, all);
    EagleLoss(outputs, {features, head, weighted_rows, {}}, options, 1.0, 3, chosen);
    EXPECT_NEAR(weighed.feature_loss, all.feature_loss, 1e-5);
    EXPECT_NEAR(weighed.token_loss, chosen.token_loss, 1e-4);
    EXPECT_GT(all.token_loss, chosen.token_loss);
    options.soft = options.hard = 0.0;
    const Tensor feature_loss =
        EagleLoss(outputs, {features, head, loss_rows, {}}, options, 1.0, 3, all);
    const Tensor of_features = torch::autograd::grad({feature_loss}, {outputs})[0];
    ExpectNear(gradient[3], of_features[3], 1e-5);
    EXPECT_GT((gradient[4] - of_features[4]).abs().max().item<double>(), 1e-3);
  }
}

}  // namespace
}  // namespace foretoken::train
