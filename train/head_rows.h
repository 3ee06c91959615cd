// Training targets of drafters whose head k predicts the token k + 1 positions after the root
// (Medusa, Hydra, Chimera).
#pragma once

#include <torch/types.h>

#include "llama.h"

namespace foretoken::train {

struct HeadRows {
  torch::Tensor rows;     // int64: the rows that have a target
  torch::Tensor targets;  // int32: the token that the head should predict at each of `rows`
};

// Returns the rows of `batch` that head `head` learns from, and their targets. Row r's feature
// predicts the root, batch.targets[r]; head k predicts batch.targets[r + k + 1]. A row is left out
// if that token has no loss or is in another document, or if the row is one of the first `skip` of
// its document.
HeadRows RowsOfHead(const Batch& batch, int64_t head, int64_t skip = 0);

// Returns `scale` times the sum of the cross-entropies between the logits states * output_matrix^T
// and `targets`. `states`: [targets.size(0), width].
torch::Tensor HeadLoss(const torch::Tensor& states, const Matrix& output_matrix,
                       const torch::Tensor& targets, double scale);

}  // namespace foretoken::train
