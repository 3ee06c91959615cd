// The attention of Chimera's full-context encoder in training (C-22).
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "train_kernels.h"

namespace foretoken::train {

// Returns the attention mask of prediction head k = `head`: [..., length, 2 * length] bool, true
// where a query (row) attends to a key (column). The first `length` columns are the target's
// features, the others the n-gram states. The query at position p attends to the features before
// p - k, which the target has computed by the time p is drafted, and to the states up to p. The
// state of a document's first position is not part of the sequence (C-18): only its own query
// attends to it, and to nothing else. first_key [..., length] int32: the first position of each
// position's document.
torch::Tensor ContextMask(int64_t head, const torch::Tensor& first_key);

// Returns the attention output of each of the draft's `heads` prediction heads: [batch * length,
// shape.heads * head_dim]. `states`: the rows [q | k | v] of the n-gram states; `features`: the
// rows [k | v] of the target's features. Differentiable.
std::vector<torch::Tensor> ContextAttention(const torch::Tensor& states,
                                            const torch::Tensor& features, int64_t heads,
                                            const AttentionShape& shape, const torch::Tensor& rope,
                                            const torch::Tensor& first_key);

// Returns the attention output of prediction head k = states.size() - 1 (at least 1) with the
// draft's own guesses in place of the text after the root (C-4): [rows, heads * head_dim].
// states[i]: rows [q | k | v] of the n-grams whose last i tokens are guesses; queries come from
// states[k]. Position p belongs to the draft whose root is at p - k. It attends to the features
// before the root, to the rows of states[0] up to the root, and for i = 1 .. k to row p - (k - i)
// of states[i].
torch::Tensor SelfFedAttention(std::span<const torch::Tensor> states, const torch::Tensor& features,
                               const AttentionShape& shape, const torch::Tensor& rope,
                               const torch::Tensor& first_key);

}  // namespace foretoken::train
