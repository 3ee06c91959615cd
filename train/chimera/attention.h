// The attention of Chimera's full-context encoder in training (C-22).
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "train_kernels.h"

namespace foretoken::train {

// Returns the attention mask of head `head`, called k below: [..., length, 2 * length] bool, true
// where a query (row) attends to a key (column). The first `length` columns are the target's
// features, the others the n-gram states. The query at position p attends to the features before p
// - k, because the target has computed these when p is drafted. It attends to the states up to p,
// except that of the document's first position, which is never needed. The first position of a
// document attends only to its own state. first_key: [..., length] int32.
torch::Tensor ContextMask(int64_t head, const torch::Tensor& first_key);

// Returns the attention output of each of the draft's `heads` prediction heads: [batch * length,
// shape.heads * head_dim]. `states`: the rows [q | k | v] of the n-gram states; `features`: the
// rows [k | v] of the target's features. Differentiable.
std::vector<torch::Tensor> ContextAttention(const torch::Tensor& states,
                                            const torch::Tensor& features, int64_t heads,
                                            const AttentionShape& shape, const torch::Tensor& rope,
                                            const torch::Tensor& first_key);

// Returns the attention output of head `late` = states.size() - 1 (at least 1) if the draft's own
// guesses take the place of the text (C-4): [rows, heads * head_dim]. states[i]: rows [q | k | v]
// of the n-grams whose last i tokens are guesses; queries come from states[late]. Position p
// belongs to the draft whose root is at p - late. It attends to the features before the root, to
// the rows of states[0] up to the root, and for i = 1 .. late to row p - (late - i) of states[i].
torch::Tensor SelfFedAttention(std::span<const torch::Tensor> states, const torch::Tensor& features,
                               const AttentionShape& shape, const torch::Tensor& rope,
                               const torch::Tensor& first_key);

}  // namespace foretoken::train
