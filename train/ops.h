// Differentiable operations of a Llama block. On the CPU each is one autograd node over
// hand-written kernels (train_kernels.h) and libtorch's matrix products; on other devices it is
// composed of libtorch operations (ops_plain.h).
//
// Activations are [rows, width] with rows = batch * length, in the compute type (bf16 or f32); the
// residual stream is always f32. Master weights are f32 leaves; a matrix product reads their copy
// in the compute type, and its gradient goes to the leaf.
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "train_kernels.h"
#include "weights.h"

namespace foretoken::train {

// Returns [2, length, rope_dim / 2] f32: cosines, then sines, of position * base^(-2i / rope_dim).
torch::Tensor RopeTable(int64_t length, int64_t rope_dim, double base);
// Returns the table of arbitrary frequencies [rope_dim / 2] f64, with all values times `magnitude`.
torch::Tensor RopeTable(int64_t length, const torch::Tensor& frequencies, double magnitude);

// Returns x * [w0; w1; ...]^T, with gradients for x and for the matrix's masters (at most three,
// [out, in] each). A frozen matrix gets no gradient.
torch::Tensor Linear(const torch::Tensor& x, const Matrix& matrix);

struct NormResult {
  torch::Tensor residual;  // h + delta, f32
  torch::Tensor normed;    // RMSNorm(residual) * weight, compute type
};
// `delta` may be undefined (nothing to add); `compute` is the type of `normed`.
NormResult AddRmsNorm(const torch::Tensor& h, const torch::Tensor& delta,
                      const torch::Tensor& weight, double eps, torch::ScalarType compute);

// Returns silu(gate) * up of rows [gate | up].
torch::Tensor SwiGlu(const torch::Tensor& gate_up);

// Returns the causal attention of rows [q | k | v] with RoPE: [rows, heads * head_dim]. first_key
// [batch, length] int32: the first position that each query attends to, the start of its document.
torch::Tensor Attention(const torch::Tensor& qkv, const AttentionShape& shape,
                        const torch::Tensor& rope, const torch::Tensor& first_key);

// Returns the rows `ids` of `table`, an f32 master.
torch::Tensor Embed(const torch::Tensor& table, const torch::Tensor& ids);

inline constexpr int64_t kLossChunk = 1024;  // rows of logits held at once

// Returns the unscaled losses of `logits` by row, f32, and replaces the logits by the gradient of
// their losses times the `scale` of LossOfLogits. The logits are those of x's rows from `first` on.
using LogitsLoss = std::function<torch::Tensor(torch::Tensor logits, int64_t first)>;
// Returns `scale` times the sum of `loss` over the logits x * table^T. Holds logits of `chunk` rows
// at a time and computes the gradient in the forward pass. A frozen table gets no gradient.
torch::Tensor LossOfLogits(const torch::Tensor& x, const Matrix& table, const LogitsLoss& loss,
                           double scale, int64_t chunk);

// LossOfLogits with the loss weights * -log softmax(logits)[targets] in each row. targets [rows]
// int32, weights [rows] f32.
torch::Tensor LmLoss(const torch::Tensor& x, const Matrix& table, const torch::Tensor& targets,
                     const torch::Tensor& weights, double scale, int64_t chunk);

}  // namespace foretoken::train
