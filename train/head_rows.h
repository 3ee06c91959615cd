// What drafters learn whose heads guess one place further ahead each (Medusa, Hydra, Chimera).
#pragma once

#include <torch/types.h>

#include "llama.h"

namespace foretoken::train {

struct HeadRows {
  torch::Tensor rows;     // int64: whose head is asked
  torch::Tensor targets;  // int32: what it should say
};

// Row r's feature gave the root, targets[r]; head k guesses targets[r + k + 1], if that is learnt
// and of the same document. The first `skip` rows of a document are left out.
HeadRows RowsOfHead(const Batch& batch, int64_t head, int64_t skip = 0);

// scale * sum of the cross-entropies of `states` [targets, width] scored by `scores`.
torch::Tensor HeadLoss(const torch::Tensor& states, const Matrix& scores,
                       const torch::Tensor& targets, double scale);

}  // namespace foretoken::train
