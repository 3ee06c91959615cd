// The attention of Chimera's full-context encoder in training (C-22).
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "train_kernels.h"

namespace foretoken::train {

// The mask of head k: [..., length, 2 * length] bool, columns of the features, then of the n-gram
// states. The query at position p sees the features up to p - 1 - k, which the target has computed
// when p is drafted, and the states up to p except for the document's first, which is never needed.
// The first position of a document sees only itself. first_key: [..., length] int32.
torch::Tensor ContextMask(int64_t head, const torch::Tensor& first_key);

// Returns a result [batch * length, heads * head_dim] for each of the draft's `heads` heads.
// `states`: rows [q | k | v] of the n-gram states; `features`: rows [k | v] of the target's
// features. Differentiable.
std::vector<torch::Tensor> ContextAttention(const torch::Tensor& states,
                                            const torch::Tensor& features, int64_t heads,
                                            const AttentionShape& shape, const torch::Tensor& rope,
                                            const torch::Tensor& first_key);

// The attention of head `late` = states.size() - 1 (at least 1) over the draft's own guesses (C-4).
// states[i]: rows [q | k | v] of the n-grams whose last i tokens are guesses. Queries are those of
// the last source. Position p belongs to the draft with root p - late; it sees the features before
// the root, the text's states (i = 0) up to the root, and the states of source i at p - (late - i).
// Result: [rows, heads * head_dim].
torch::Tensor SelfFedAttention(std::span<const torch::Tensor> states, const torch::Tensor& features,
                               const AttentionShape& shape, const torch::Tensor& rope,
                               const torch::Tensor& first_key);

}  // namespace foretoken::train
