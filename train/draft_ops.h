// Differentiable operations of drafters, in addition to ops.h.
#pragma once

#include <torch/types.h>

#include "draft_kernels.h"
#include "train_kernels.h"
#include "weights.h"

namespace foretoken::train {

// Returns the attention output of the last of `sources` alignment passes (HASS, H-25): [rows, heads
// * head_dim]. `qkv`: the rows [q | k | v] of all sources, concatenated: [sources * rows, width].
// Source 0 is computed from the target's features, source i from those that pass i predicted;
// queries come from the last source. With late = sources - 1, position p attends to source 0 up to
// p - late and, for i = 1 .. late, to source i at p - (late - i). Keys before first_key [batch,
// length] are masked. With one source this is ordinary causal attention.
torch::Tensor AlignedAttention(const torch::Tensor& qkv, int64_t sources,
                               const AttentionShape& shape, const torch::Tensor& rope,
                               const torch::Tensor& first_key);
// AlignedAttention composed of libtorch operations. Used on GPUs, and as the reference in tests.
torch::Tensor PlainAlignedAttention(const torch::Tensor& qkv, int64_t sources,
                                    const AttentionShape& shape, const torch::Tensor& rope,
                                    const torch::Tensor& first_key);

// Returns the targets of a draft's distribution, f32: soft * p + hard * (p for the top-k tokens, 0
// for others), with k = `top` <= kMostTopTokens and p = softmax(logits) by row.
torch::Tensor DistillationTargets(const torch::Tensor& logits, double soft, double hard,
                                  int64_t top);
// Returns -sum(targets * log softmax(logits)) by row, f32. Overwrites logits with `scale` times the
// gradient of this loss with respect to them.
torch::Tensor SoftCrossEntropy(torch::Tensor logits, const torch::Tensor& targets, double scale);

// Returns `scale` times the sum over rows of KL(p || q), with q = softmax(x * table^T) and p =
// softmax(features * teacher^T); `teacher` [vocab, width] is frozen. Holds logits of `chunk` rows
// at a time.
torch::Tensor DistillationLoss(const torch::Tensor& x, const Matrix& table,
                               const torch::Tensor& features, const torch::Tensor& teacher,
                               double scale, int64_t chunk);

// Returns the given rows of f32 `values`, converted to `type`.
torch::Tensor GatherRows(const torch::Tensor& values, const torch::Tensor& rows,
                         torch::ScalarType type);
// Returns the mean SmoothL1 (beta 1) of predictions[rows[i]] - targets[i] for each i, f32. Sets
// gradient[rows[i]] to other_gradient[i] + scale * the gradient of the loss with respect to
// predictions[rows[i]]. `predictions`: f32; `targets` and `other_gradient` have the same type.
torch::Tensor SmoothL1(const torch::Tensor& predictions, const torch::Tensor& rows,
                       const torch::Tensor& targets, const torch::Tensor& other_gradient,
                       double scale, torch::Tensor gradient);

struct Biased {
  torch::Tensor wide;    // x + bias, f32
  torch::Tensor narrow;  // x + bias, in x's type
};
// Adds `bias` (f32) to every row of `x`. Differentiable.
Biased AddBias(const torch::Tensor& x, const torch::Tensor& bias);

}  // namespace foretoken::train
