// Training targets of drafters whose head k predicts k + 1 tokens after the root (Medusa, Hydra,
// Chimera).
#pragma once

#include <torch/types.h>

#include "llama.h"

namespace foretoken::train {

struct HeadRows {
  torch::Tensor rows;     // int64: rows with a target
  torch::Tensor targets;  // int32: the token that the head should predict at each of `rows`
};

// Row r's feature predicts the root, targets[r]; head k predicts targets[r + k + 1], if that token
// has a loss and is in the same document. Omits the first `skip` rows of each document.
HeadRows RowsOfHead(const Batch& batch, int64_t head, int64_t skip = 0);

// scale * the sum of the cross-entropies of the logits states * scores^T; `states` [targets,
// width].
torch::Tensor HeadLoss(const torch::Tensor& states, const Matrix& scores,
                       const torch::Tensor& targets, double scale);

}  // namespace foretoken::train
