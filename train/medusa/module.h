// Medusa-1's heads (B-5): head k computes y = h + SiLU(W h + b) from the target's last feature h;
// its own matrix or the target's LM head turns y into logits. Its counterpart in the engine is
// src/draft/medusa.
#pragma once

#include <torch/types.h>

#include <vector>

#include "target.h"

namespace foretoken::train {

class MedusaModule {
 public:
  static constexpr int kBlocks = 1;  // residual blocks of a head
  // Parameters carry the published names (0.0.linear.weight, ...). The heads' score matrices are
  // initialised to the target's LM head; with `shared_output` they are the frozen LM head itself.
  MedusaModule(const FrozenTarget& target, int64_t heads, bool shared_output,
               WeightOptions options);

  WeightSet& weights() { return weights_; }
  int64_t heads() const { return static_cast<int64_t>(heads_.size()); }
  // Returns y of `features` [rows, hidden], in their type; logits are y * scores(head)^T.
  torch::Tensor States(int64_t head, const torch::Tensor& features) const;
  const Matrix& scores(int64_t head) const { return *HeadAt(head).output_matrix; }

 private:
  struct Head {
    const Matrix* linear;
    torch::Tensor bias;
    const Matrix* output_matrix;
  };
  const Head& HeadAt(int64_t head) const { return heads_[static_cast<size_t>(head)]; }

  WeightSet weights_;
  std::vector<Head> heads_;
};

}  // namespace foretoken::train
