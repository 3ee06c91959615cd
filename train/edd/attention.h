// The attention of EDD (E-19): a token attends to the target's hidden states before its block and
// to the tokens of its block up to itself.
#pragma once

#include <torch/types.h>

#include "llama.h"

namespace foretoken::train {

// Returns the start of each position's block, [batch, length] int32 on the CPU. Every run of tokens
// with a loss is cut into blocks of `block` from its beginning; any other token is a block of one.
torch::Tensor BlockStarts(const Batch& batch, int64_t block);
// Returns block starts that simulate draft step `step` (from 0) at every position: a position's
// root lies `step` positions before it, or at the document's beginning if that is nearer.
torch::Tensor StepStarts(const torch::Tensor& first_key, int64_t step);

// Returns the attention output, [rows, heads * head_dim]. Position p attends to states r with
// first_key[p] <= r < starts[p], and to tokens starts[p] .. p. Only tokens have queries. tokens:
// rows [q | k | v]; states: rows [k | v]; both before rotation. first_key, starts: [batch, length]
// int32; no block is longer than `longest`.
torch::Tensor DualBlockAttention(const torch::Tensor& tokens, const torch::Tensor& states,
                                 const AttentionShape& shape, const torch::Tensor& rope,
                                 const torch::Tensor& first_key, const torch::Tensor& starts,
                                 int64_t longest);

}  // namespace foretoken::train
