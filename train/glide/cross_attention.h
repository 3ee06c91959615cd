// Attention of a draft's queries to the keys and values of its target (GLIDE, G-16), and
// which of them a query may see.
#pragma once

#include <torch/types.h>

#include "train_kernels.h"

namespace foretoken::train {

// `q` [rows, heads * head_dim] are the draft's, `keys_values` [rows, 2 * kv_heads * head_dim] what
// the target computed: keys, then values. Both are rotated here. Position p of a sequence sees
// positions first_key .. last_key (int32 [batch, length], last_key <= p). No gradient reaches the
// target. Result: [rows, heads * head_dim].
torch::Tensor CrossAttention(const torch::Tensor& q, const torch::Tensor& keys_values,
                             const AttentionShape& shape, const torch::Tensor& rope,
                             const torch::Tensor& first_key, const torch::Tensor& last_key);
// The same of libtorch's own operations: what GPUs run and tests compare with.
torch::Tensor PlainCrossAttention(const torch::Tensor& q, const torch::Tensor& keys_values,
                                  const AttentionShape& shape, const torch::Tensor& rope,
                                  const torch::Tensor& first_key, const torch::Tensor& last_key);

// last_key of training (G-19): text is cut in blocks of `block` positions, and a position
// sees the blocks before its own; in the first one it sees what is before it, and itself (G-7).
torch::Tensor BlockKeys(const torch::Tensor& first_key, int64_t block);
// last_key of the step that comes `step` tokens behind the root: the target has seen what is before
// the root, one position at least.
torch::Tensor StepKeys(const torch::Tensor& first_key, int64_t step);

}  // namespace foretoken::train
