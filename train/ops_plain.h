// The operations of ops.h composed of libtorch operations, differentiable on any device. Used on
// GPUs, and as the reference in tests of the CPU kernels.
#pragma once

#include "ops.h"

namespace foretoken::train {

NormResult PlainAddRmsNorm(const torch::Tensor& h, const torch::Tensor& delta,
                           const torch::Tensor& weight, double eps, torch::ScalarType compute);
// Reshapes rows [batch * length, n * head_dim] to [batch, n, length, head_dim].
torch::Tensor PlainHeads(const torch::Tensor& rows, const AttentionShape& shape);
// Rotates x[..., length, head_dim] by position in the half-split layout. Only the leading
// dimensions for which the table has angles are rotated.
torch::Tensor PlainRotated(const torch::Tensor& x, const torch::Tensor& rope);
// The factors of PlainRotated: [length, rotary] f32 each, with the first half of the sines negated.
struct RotaryFactors {
  torch::Tensor cosine, sine;
  RotaryFactors Rows(int64_t first, int64_t count) const {
    return {cosine.narrow(0, first, count), sine.narrow(0, first, count)};
  }
};
RotaryFactors FactorsOf(const torch::Tensor& rope);
// PlainRotated in f32, for any type of x.
torch::Tensor Rotated(const torch::Tensor& x, const RotaryFactors& factors);
// Returns the softmax of the products of q and k, times v: [batch, heads, length, head_dim] each.
// `visible`: bool [batch, 1, length, length], whether a query (row) attends to a key (column); a
// query attends to at least one.
torch::Tensor MaskedAttention(const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, const torch::Tensor& visible);
torch::Tensor PlainSwiGlu(const torch::Tensor& gate_up);
torch::Tensor PlainAttention(const torch::Tensor& qkv, const AttentionShape& shape,
                             const torch::Tensor& rope, const torch::Tensor& first_key);
torch::Tensor PlainEmbed(const torch::Tensor& table, const torch::Tensor& ids);
// Replaces logits by the gradient of scale * weight * -log softmax(logits)[target]; returns weight
// * -log softmax(logits)[target] of each row, f32.
torch::Tensor PlainCrossEntropy(torch::Tensor logits, const torch::Tensor& targets,
                                const torch::Tensor& weights, double scale);

}  // namespace foretoken::train
