// A Llama-architecture language model for training.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "ops.h"

namespace foretoken::train {

struct LlamaShape {
  int64_t vocab = 8192, layers = 8, hidden = 384, ffn = 1024;
  int64_t heads = 6, kv_heads = 2, head_dim = 64;
  int64_t context = 2048;  // recorded in the exported files
  double norm_eps = 1e-5, rope_base = 10000.0;
  bool tied_embeddings = true;
};

// One step's tokens: `batch` packed sequences of `length`.
struct Batch {
  int64_t batch = 0, length = 0;
  torch::Tensor ids;        // [batch * length] int32
  torch::Tensor targets;    // [batch * length] int32: the next token
  torch::Tensor weights;    // [batch * length] f32: 0 where the target is not learnt
  torch::Tensor first_key;  // [batch, length] int32: where the position's document begins
};

struct NamedParameter {
  std::string name;
  torch::Tensor value;  // f32 leaf
  bool decays;          // weight decay applies (matrices, not norms)
};

// Parameters are f32 and carry Hugging Face names (model.layers.0.self_attn.q_proj.weight, ...).
// Matrix products read copies in the compute type: call Refresh() after parameters change.
class Llama {
 public:
  // Deterministic initial weights from `seed` (N(0, 0.02), residual projections scaled down).
  Llama(const LlamaShape& shape, torch::ScalarType compute, torch::Device device, uint64_t seed);

  const LlamaShape& shape() const { return shape_; }
  const std::vector<NamedParameter>& parameters() const { return parameters_; }
  void Refresh();
  // scale * sum of weighted token losses; differentiable while grad mode is on.
  torch::Tensor Loss(const Batch& batch, double scale);
  // Floating-point operations of the matrix products of one training step over `rows` tokens in
  // sequences of `length`, as executed (attention by causal blocks).
  double StepFlops(int64_t rows, int64_t length) const;

 private:
  struct Matrix {  // one product: several HF tensors side by side
    std::vector<torch::Tensor> masters;
    torch::Tensor compute;
  };
  struct Layer {
    torch::Tensor input_norm, post_norm;
    Matrix qkv, out, gate_up, down;
  };
  struct Part {
    std::string name;
    int64_t rows;
  };
  torch::Tensor AddParameter(const std::string& name, const std::vector<int64_t>& shape,
                             double deviation);
  Matrix AddMatrix(const std::vector<Part>& parts, int64_t columns, double deviation);
  Layer AddLayer(int64_t index);
  AttentionShape ShapeOf(int64_t batch, int64_t length) const;
  void RefreshMatrix(Matrix& matrix);

  LlamaShape shape_;
  torch::ScalarType compute_;
  torch::Device device_;
  uint64_t seed_;
  std::vector<NamedParameter> parameters_;
  torch::Tensor embed_, norm_;
  std::map<int64_t, torch::Tensor> ropes_;  // by sequence length
  Matrix head_;
  std::vector<Layer> layers_;
};

}  // namespace foretoken::train
