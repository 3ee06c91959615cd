// Attention of a draft's queries to its target's keys and values (GLIDE, G-16), and its masks in
// training and evaluation.
#pragma once

#include <torch/types.h>

#include "train_kernels.h"

namespace foretoken::train {

// Returns the attention output [rows, heads * head_dim]. `q` [rows, heads * head_dim]: the draft's
// queries; `keys_values` [rows, 2 * kv_heads * head_dim]: the target's keys, then values. Queries
// and keys are given before rotation. Position p of a sequence attends to positions first_key ..
// last_key (int32 [batch, length], last_key <= p). No gradient reaches the target.
torch::Tensor CrossAttention(const torch::Tensor& q, const torch::Tensor& keys_values,
                             const AttentionShape& shape, const torch::Tensor& rope,
                             const torch::Tensor& first_key, const torch::Tensor& last_key);
// CrossAttention composed of libtorch operations: for GPUs, and the tests' reference.
torch::Tensor PlainCrossAttention(const torch::Tensor& q, const torch::Tensor& keys_values,
                                  const AttentionShape& shape, const torch::Tensor& rope,
                                  const torch::Tensor& first_key, const torch::Tensor& last_key);

// Returns last_key for training (G-19): documents are cut into blocks of `block` positions, and a
// position attends to the blocks before its own. In the first block it attends to all positions up
// to itself (G-7).
torch::Tensor BlockKeys(const torch::Tensor& first_key, int64_t block);
// Returns last_key for draft step `step`: each row's root lies `step` positions before the row, and
// the row attends to the positions before that root, or to the document's first position if there
// are none.
torch::Tensor StepKeys(const torch::Tensor& first_key, int64_t step);

}  // namespace foretoken::train
