// Helpers for tests of differentiable operations.
#pragma once

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <vector>

#include "train_kernels.h"

namespace foretoken::train {

using torch::Tensor;

inline Tensor Leaf(const std::vector<int64_t>& shape, double scale = 1.0) {
  return (torch::randn(shape) * scale).requires_grad_();
}

// Returns the gradient of a leaf and resets it.
inline Tensor GradOf(const Tensor& leaf) {
  Tensor grad = leaf.grad().clone();
  leaf.mutable_grad().reset();
  return grad;
}

inline void ExpectNear(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_LE((a - b).abs().max().item<double>(), tolerance * (1.0 + b.abs().max().item<double>()));
}

// Expects that `ours` and `plain`, scalar functions of the leaves, have the same value and
// gradients.
template <typename Ours, typename Plain>
void ExpectSame(const std::vector<Tensor>& leaves, const Ours& ours, const Plain& plain) {
  const Tensor a = ours();
  a.backward();
  std::vector<Tensor> grads;
  for (const Tensor& leaf : leaves) grads.push_back(GradOf(leaf));
  const Tensor b = plain();
  b.backward();
  ExpectNear(a.detach(), b.detach(), 1e-5);
  for (size_t i = 0; i < leaves.size(); ++i) ExpectNear(grads[i], GradOf(leaves[i]), 1e-4);
}

// Expects that the gradient agrees with central differences along a random direction.
template <typename Loss>
void ExpectDirectionalDerivative(const Tensor& leaf, const Loss& loss, double step = 1e-2) {
  if (leaf.grad().defined()) leaf.mutable_grad().reset();
  loss().backward();
  const Tensor direction = torch::randn_like(leaf.detach());
  const double expected = (GradOf(leaf) * direction).sum().template item<double>();
  torch::NoGradGuard no_grad;
  leaf.add_(direction, step);
  const double up = loss().template item<double>();
  leaf.sub_(direction, 2 * step);
  const double down = loss().template item<double>();
  leaf.add_(direction, step);
  EXPECT_NEAR((up - down) / (2 * step), expected, 0.02 * (1.0 + std::abs(expected)));
}

inline AttentionShape SmallAttention() { return {2, 24, 6, 2, 8, 8}; }

// Returns first_key for documents that begin at positions 0, 5 and 17 of every sequence.
inline Tensor FirstKeys(const AttentionShape& s) {
  Tensor first = torch::zeros({s.batch, s.length}, torch::kInt32);
  first.narrow(1, 5, s.length - 5).fill_(5);
  first.narrow(1, 17, s.length - 17).fill_(17);
  return first;
}

}  // namespace foretoken::train
