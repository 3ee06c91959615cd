// Differentiable operations of drafters, in the manner of ops.h.
#pragma once

#include <torch/types.h>

#include "train_kernels.h"
#include "weights.h"

namespace foretoken::train {

// Attention of the last of `sources` alignment passes (HASS, H-25). `qkv` holds
// the rows [q | k | v] of the sources one below the other, [sources * rows, width]: source 0 comes
// from the target's features, source i from those of pass i. Queries are the last source's. With
// late = sources - 1, position p sees source 0 up to p - late, then source i at p - (late - i) for
// i = 1 .. late, nothing before first_key [batch, length]. One source: plain causal attention.
// Result: [rows, heads * head_dim].
torch::Tensor AlignedAttention(const torch::Tensor& qkv, int64_t sources,
                               const AttentionShape& shape, const torch::Tensor& rope,
                               const torch::Tensor& first_key);
// The same of libtorch's own operations: what GPUs run and tests compare with.
torch::Tensor PlainAlignedAttention(const torch::Tensor& qkv, int64_t sources,
                                    const AttentionShape& shape, const torch::Tensor& rope,
                                    const torch::Tensor& first_key);

// [length, length] int64 of one sequence: the source that query p (row) reads column c from, -1
// where it sees nothing. The rule that both follow.
torch::Tensor AlignmentSources(int64_t sources, const torch::Tensor& first_key);

// What a draft's logits are to follow, and how far they are from it.
//
// soft * p + hard * p on the `top` most likely tokens, with p = softmax(logits) by row: f32.
torch::Tensor DistillationTargets(const torch::Tensor& logits, double soft, double hard,
                                  int64_t top);
// Returns -sum(targets * log softmax(logits)) by row, f32; logits become their gradient times
// scale.
torch::Tensor SoftCrossEntropy(torch::Tensor logits, const torch::Tensor& targets, double scale);

// scale * sum of KL(p || q) over rows: q is what `table` makes of x, p what the frozen `teacher`
// [vocab, width] makes of `features`, of which only `chunk` rows are held at a time.
torch::Tensor DistillationLoss(const torch::Tensor& x, const Matrix& table,
                               const torch::Tensor& features, const torch::Tensor& teacher,
                               double scale, int64_t chunk);

// Rows of f32 `values` in type `type`.
torch::Tensor GatherRows(const torch::Tensor& values, const torch::Tensor& rows,
                         torch::ScalarType type);
// Mean SmoothL1 (beta 1) by row between guesses[rows] (f32) and `wanted`, f32; gradient[rows]
// becomes `added` + factor * its gradient. `added` and `wanted` have one type.
torch::Tensor SmoothL1(const torch::Tensor& guesses, const torch::Tensor& rows,
                       const torch::Tensor& wanted, const torch::Tensor& added, double factor,
                       torch::Tensor gradient);

struct Biased {
  torch::Tensor wide;    // x + bias, f32
  torch::Tensor narrow;  // the same in x's type
};
// Differentiable.
Biased AddBias(const torch::Tensor& x, const torch::Tensor& bias);

inline constexpr int64_t kMostTopTokens = 128;  // `top` at most

}  // namespace foretoken::train
