// The network of GLIDE (G-15) and of the Vanilla Drafter, which has no cross-attention to the
// target. Its counterpart in the engine is src/draft/glide.
#pragma once

#include <torch/types.h>

#include <vector>

#include "llama.h"

namespace foretoken::train {

struct GlideShape {
  LlamaShape draft;
  LlamaShape target;
  bool has_cross_attention = true;
};

struct GlideInputs {
  int64_t batch = 0, length = 0;
  torch::Tensor ids;        // [rows] int32
  torch::Tensor first_key;  // [batch, length] int32
  // Unused without cross-attention. keys_values: for each draft layer the target's keys, then
  // values, [rows, 2 * kv_heads * head_dim]; last_key: the last target position that each
  // position attends to, int32 [batch, length].
  std::vector<torch::Tensor> keys_values;
  torch::Tensor last_key;
};

class GlideModule {
 public:
  // Parameters carry the published names (model.layers.0.cross_attn.q_proj.weight, ...).
  GlideModule(const GlideShape& shape, WeightOptions options);

  WeightSet& weights() { return weights_; }
  const Matrix& head() const { return *head_; }
  // Returns the input of the LM head, [rows, hidden] in the compute type.
  torch::Tensor Forward(const GlideInputs& inputs);
  // Floating-point operations of the matrix products of Forward and of the LM head, forward only.
  double Flops(int64_t rows, int64_t length) const;

 private:
  struct Layer {
    Block block;
    const Matrix *cross_q = nullptr, *cross_out = nullptr;
  };

  GlideShape shape_;
  WeightSet weights_;
  RopeTables ropes_, target_ropes_;
  torch::Tensor embed_, norm_;
  std::vector<Layer> layers_;
  const Matrix* head_;
};

}  // namespace foretoken::train
