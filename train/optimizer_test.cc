// Tests of Muon; ops_test.cc has AdamW's.
#include "optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "ops_testing.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// The iteration in f64, as it is published: x -> a x + b (x x^T) x + c (x x^T)^2 x.
Tensor Reference(const Tensor& matrix) {
  Tensor x = matrix.to(torch::kFloat64);
  x = x / x.norm();
  for (int step = 0; step < 5; ++step) {
    const Tensor square = x.mm(x.t());
    x = 3.4445 * x - 4.7750 * square.mm(x) + 2.0315 * square.mm(square).mm(x);
  }
  return x;
}

// A matrix with one singular value that is far larger than the others.
Tensor Uneven(int64_t rows, int64_t columns) {
  Tensor matrix = torch::randn({rows, columns});
  matrix.select(1, 0).mul_(30.0);
  return matrix;
}

TEST(OptimizerTest, OrthogonalizedEqualizesSingularValues) {
  torch::manual_seed(3);
  for (const auto& [rows, columns] : {std::pair{24, 64}, {64, 24}, {32, 32}}) {
    const Tensor matrix = Uneven(rows, columns);
    const Tensor result = Orthogonalized(matrix, torch::kFloat32);
    ExpectNear(result.to(torch::kFloat64), Reference(matrix), 1e-4);
    // In the singular vectors of the matrix, the result is diagonal.
    const auto [u, s, v] = torch::svd(matrix);
    const Tensor inside = u.t().mm(result).mm(v), diagonal = inside.diagonal();
    EXPECT_LT((inside - diagonal.diag()).abs().max().item<double>(), 1e-3);
    EXPECT_GT(s[0].item<double>() / s[-1].item<double>(), 30.0);
    const Tensor sorted = std::get<0>(diagonal.sort());
    EXPECT_LT(sorted[-1].item<double>(), 1.25);
    EXPECT_GT(sorted[sorted.size(0) / 4].item<double>(), 0.6);
  }
}

TEST(OptimizerTest, MuonLearnsMatricesOfLayers) {
  const std::vector<NamedParameter> named = {{"wide", Leaf({4, 12}), true},
                                             {"tall", Leaf({12, 4}), true},
                                             {"embedding", Leaf({32, 4}), true},
                                             {"norm", Leaf({4}), false}};
  OptimizerOptions options;
  options.vocab = 32;
  const auto with_second = [&] {
    std::string names;
    Optimizer optimizer(named, options);
    for (size_t i = 0; i < named.size(); ++i) {
      if (optimizer.second()[i].defined()) names += named[i].name + " ";
    }
    return names;
  };
  EXPECT_EQ(with_second(), "wide tall embedding norm ");
  options.muon = true;
  EXPECT_EQ(with_second(), "embedding norm ");
}

TEST(OptimizerTest, MuonUpdatesWithNesterovMomentum) {
  torch::manual_seed(5);
  const Tensor matrix = Leaf({12, 20}), vector = Leaf({20}), alone = vector.detach().clone();
  alone.requires_grad_();
  const std::vector<NamedParameter> both = {{"m", matrix, true}, {"v", vector, false}},
                                    adamw = {{"v", alone, false}};
  OptimizerOptions options;
  options.clip = 0.0;
  Optimizer reference(adamw, options);
  options.muon = true;
  Optimizer optimizer(both, options);
  EXPECT_FALSE(optimizer.second()[0].defined());
  Tensor expected = matrix.detach().to(torch::kFloat64);
  Tensor momentum = torch::zeros({12, 20}, torch::kFloat64);
  for (int step = 1; step <= 3; ++step) {
    const Tensor gradient = torch::randn({12, 20}), other = torch::randn({20});
    matrix.mutable_grad() = gradient.clone();
    vector.mutable_grad() = other.clone();
    alone.mutable_grad() = other.clone();
    optimizer.Step(step, 0.01);
    reference.Step(step, 0.01);
    momentum = 0.95 * momentum + gradient;
    const Tensor update = Reference(gradient + 0.95 * momentum);
    expected = expected * (1.0 - 0.01 * 0.1) - 0.01 * 0.2 * std::sqrt(20.0) * update;
  }
  ExpectNear(matrix.detach().to(torch::kFloat64), expected, 1e-5);
  EXPECT_TRUE(torch::equal(vector.detach(), alone.detach())) << "AdamW learns vectors";
}

// Gradients of any size give updates of the same size, zeros none.
TEST(OptimizerTest, MuonsUpdatesDoNotDependOnTheGradientsSize) {
  torch::manual_seed(9);
  const Tensor gradient = torch::randn({12, 20});
  Tensor results[3];
  const double sizes[] = {1.0, 1e-6, 0.0};
  for (int i = 0; i < 3; ++i) {
    const Tensor matrix = torch::ones({12, 20}).requires_grad_();
    const std::vector<NamedParameter> named = {{"m", matrix, true}};
    OptimizerOptions options;
    options.muon = true, options.weight_decay = 0.0;
    Optimizer optimizer(named, options);
    matrix.mutable_grad() = gradient * sizes[i];
    optimizer.Step(1, 0.01);
    results[i] = matrix.detach();
  }
  ExpectNear(results[1], results[0], 1e-5);
  EXPECT_TRUE(torch::equal(results[2], torch::ones({12, 20})));
}

}  // namespace
}  // namespace foretoken::train
