// The operations of ops.h in libtorch's own terms, differentiable on any device. What a GPU runs,
// and what the tests hold the CPU kernels against.
#pragma once

#include "ops.h"

namespace foretoken::train {

NormResult PlainAddRmsNorm(const torch::Tensor& h, const torch::Tensor& delta,
                           const torch::Tensor& weight, double eps, torch::ScalarType compute);
// rows [batch * length, n * head_dim] as [batch, n, length, head_dim].
torch::Tensor PlainHeads(const torch::Tensor& rows, const AttentionShape& shape);
// x[..., length, head_dim] rotated by position, half-split layout: as many dimensions, the first
// ones, as the table has angles for.
torch::Tensor PlainRotated(const torch::Tensor& x, const torch::Tensor& rope);
torch::Tensor PlainSwiGlu(const torch::Tensor& gate_up);
torch::Tensor PlainAttention(const torch::Tensor& qkv, const AttentionShape& shape,
                             const torch::Tensor& rope, const torch::Tensor& first_key);
torch::Tensor PlainEmbed(const torch::Tensor& table, const torch::Tensor& ids);
// Rows of logits become the gradient of scale * weight * -log softmax(logits)[target]; returns
// weight * -log softmax(logits)[target] of each row, f32.
torch::Tensor PlainCrossEntropy(torch::Tensor logits, const torch::Tensor& targets,
                                const torch::Tensor& weights, double scale);

}  // namespace foretoken::train
