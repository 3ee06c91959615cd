// Attention of Chimera's full-context encoder in training (C-22).
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "train_kernels.h"

namespace foretoken::train {

// The keys that the query at position p of a sequence sees on behalf of head k: [..., length, 2 *
// length] bool, the features' columns, then the n-gram states'. Features up to p - 1 - k, which the
// target had read when p was drafted; states up to p but not the document's first, which no text
// ever needs. That one sees itself and nothing else. first_key: [..., length] int32.
torch::Tensor ContextMask(int64_t head, const torch::Tensor& first_key);

// One result [batch * length, heads * head_dim] for each of `heads` heads. `states`: rows [q | k |
// v] of the n-gram states; `features`: rows [k | v] of the target's features. Differentiable.
std::vector<torch::Tensor> ContextAttention(const torch::Tensor& states,
                                            const torch::Tensor& features, int64_t heads,
                                            const AttentionShape& shape, const torch::Tensor& rope,
                                            const torch::Tensor& first_key);

// The same of head `late` = states.size() - 1, from 1, that is fed the draft's own guesses
// (C-4). states[i]: rows [q | k | v] of the n-grams whose last i tokens are guessed.
// Queries are the last source's: position p, of the draft whose root is p - late, sees features
// before the root, the text's states (i = 0) up to it, and source i's at p - (late - i). Result:
// [rows, heads * head_dim].
torch::Tensor SelfFedAttention(std::span<const torch::Tensor> states, const torch::Tensor& features,
                               const AttentionShape& shape, const torch::Tensor& rope,
                               const torch::Tensor& first_key);

}  // namespace foretoken::train
