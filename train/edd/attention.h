// The attention of EDD (E-19): tokens read the target's hidden states up to where their
// block begins, and the tokens of their block.
#pragma once

#include <torch/types.h>

#include "llama.h"

namespace foretoken::train {

// Where each position's block begins, [batch, length] int32 on the CPU: every run of tokens to
// learn is cut into blocks of `block` from its beginning; any other token is a block of its own.
torch::Tensor BlockStarts(const Batch& batch, int64_t block);
// As if drafting step `step` (from 0) stood at every position: the root lies `step` places before
// it, or at the document's beginning.
torch::Tensor StepStarts(const torch::Tensor& first_key, int64_t step);

// Position p sees the keys and values of states r, first_key <= r < starts[p], and of tokens
// starts[p] .. p. Queries are the tokens'. tokens: rows [q | k | v]; states: rows [k | v], none of
// it rotated. first_key, starts: [batch, length] int32; no block is longer than `longest`. Result:
// [rows, heads * head_dim].
torch::Tensor DualBlockAttention(const torch::Tensor& tokens, const torch::Tensor& states,
                                 const AttentionShape& shape, const torch::Tensor& rope,
                                 const torch::Tensor& first_key, const torch::Tensor& starts,
                                 int64_t longest);

}  // namespace foretoken::train
