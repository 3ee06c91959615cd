// A Llama-architecture language model: the model of `train lm`, and the frozen target of drafters.
#pragma once

#include <torch/types.h>

#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/model_file.h"
#include "ops.h"
#include "weights.h"

namespace foretoken::train {

struct LlamaShape {
  int64_t vocab = 8192, layers = 8, hidden = 384, ffn = 1024;
  int64_t heads = 6, kv_heads = 2, head_dim = 64;
  int64_t context = 2048;  // recorded in the exported files
  double norm_eps = 1e-5, rope_base = 10000.0;
  bool tied_embeddings = true;
  int64_t rope_dim = 0;  // leading dimensions of a head that rotate; 0: all
  int64_t window = 0;    // positions that a query attends to, itself included; 0: all
  // Frequencies of scaled rotary positions; empty: powers of rope_base.
  std::vector<float> rope_frequencies;
  double rope_magnitude = 1.0;
  int64_t rotary() const { return rope_dim > 0 ? rope_dim : head_dim; }
};

// Returns the shape of the model that `config` describes, with rotary scaling resolved.
LlamaShape ShapeOf(const ModelConfig& config);

// Parts of attention that only some model families have; supported only in frozen models.
struct AttentionParts {
  bool bias = false;     // q, k and v have biases
  bool qk_norm = false;  // RMSNorm of each head of q and k, before their rotation
};

// `batch` packed sequences of `length` tokens.
// The document of a batch's piece, for a target that reads whole documents: rows [row, row + count)
// of the batch are the document's tokens [first, first + count).
struct ReadPiece {
  int64_t row = 0, first = 0, count = 0;
  std::span<const uint32_t> document;  // of the corpus
  std::span<const uint8_t> learn;      // [document] 1: the loss covers the next token
};

struct Batch {
  int64_t batch = 0, length = 0;
  uint64_t number = 0;      // index of its first sequence in the run; part of random draws' keys
  torch::Tensor ids;        // [batch * length] int32
  torch::Tensor targets;    // [batch * length] int32: the next token
  torch::Tensor weights;    // [batch * length] f32: 0 where the target has no loss
  torch::Tensor first_key;  // [batch, length] int32: the first position of the document
  // The rest is for drafters that learn from the target's features.
  torch::Tensor inner;   // [batch * length] f32: 1 where the token itself has a loss and the next
                         // position belongs to the same document
  torch::Tensor extent;  // [batch * length] f32: length of the piece that the position belongs to,
                         // 0 in padding
  // With Recipe::target_length: of all pieces, and of those of coming batches, in their order, that
  // no earlier batch had here. Else empty.
  std::vector<ReadPiece> read, coming;
};

// A decoder layer's weights.
struct Block {
  torch::Tensor input_norm, post_norm;  // input_norm is undefined if the layer has none
  const Matrix *qkv = nullptr, *out = nullptr, *gate_up = nullptr, *down = nullptr;
  torch::Tensor qkv_bias, q_norm, k_norm;  // AttentionParts; f32
};

// Adds a layer's weights. `prefix` ends in a dot. `into_residual`: the initial standard deviation
// of the matrices that write to the residual stream.
Block AddBlock(WeightSet& weights, const std::string& prefix, const LlamaShape& shape,
               bool has_input_norm, double into_residual);

// The residual stream, and a delta that the next norm adds to it.
struct Stream {
  torch::Tensor h;      // f32
  torch::Tensor delta;  // compute type
};
// The feed-forward half of a layer.
Stream FeedForward(const Block& block, const Stream& in, double eps, torch::ScalarType compute);

// A hidden state with Hugging Face's index: 0 is the embeddings, i the output of the i-th
// layer, and the last index, shape.layers, the output of the final norm.
struct HiddenState {
  int64_t index = 0;
  torch::Tensor value;  // [batch * length, hidden] f32
};

// Returns the shape of attention for `batch` sequences of `length` tokens.
AttentionShape AttentionShapeOf(const LlamaShape& shape, int64_t batch, int64_t length);

inline constexpr double kInitialDeviation = 0.02;

// RoPE tables, cached by sequence length.
class RopeTables {
 public:
  RopeTables(int64_t rope_dim, double base, torch::Device device)
      : rope_dim_(rope_dim), base_(base), device_(device) {}
  // The tables of a model, with its rotary scaling.
  RopeTables(const LlamaShape& shape, torch::Device device);
  const torch::Tensor& For(int64_t length);

 private:
  int64_t rope_dim_;
  double base_;
  torch::Tensor frequencies_;  // undefined: powers of base_
  double magnitude_ = 1.0;
  torch::Device device_;
  std::map<int64_t, torch::Tensor> tables_;
};

// Parameters carry Hugging Face names (model.layers.0.self_attn.q_proj.weight, ...).
class Llama {
 public:
  // REQUIRES: options.frozen if any of `parts` is set.
  Llama(const LlamaShape& shape, WeightOptions options, AttentionParts parts = {});

  const LlamaShape& shape() const { return shape_; }
  WeightSet& weights() { return weights_; }
  const torch::Tensor& embedding() const { return embed_; }
  const Matrix& head() const { return *head_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const torch::Tensor& final_norm() const { return norm_; }
  // Returns q, k and v of rows [rows, hidden], before rotation: [rows, (heads + 2 * kv_heads) *
  // head_dim] in the compute type.
  torch::Tensor Qkv(const Block& block, const torch::Tensor& rows) const;

  // Returns Hugging Face's hidden_states[layers], the input of the LM head: [batch * length,
  // hidden] in the compute type. Fills `tap` unless it is null.
  torch::Tensor Features(const Batch& batch, HiddenState* tap = nullptr);
  // Returns the keys and values of `layers` (0-based, ascending) before rotation: for each, [batch
  // * length, 2 * kv_heads * head_dim], each row's keys followed by its values, in the compute
  // type. Layers above the last one are not computed.
  std::vector<torch::Tensor> KeysValues(const Batch& batch, std::span<const int> layers);
  // Returns `scale` times the sum of weighted token losses; differentiable while grad mode is on.
  torch::Tensor Loss(const Batch& batch, double scale);
  // Floating-point operations of the matrix products that Features, KeysValues and the LM head
  // execute for `rows` tokens in sequences of `length`. Attention is counted in causal blocks.
  double ForwardFlops(int64_t rows, int64_t length) const;
  double KeysValuesFlops(int64_t rows, int64_t length, std::span<const int> layers) const;
  double HeadFlops(int64_t rows) const;

 private:
  // Computes the rest of a layer from its `qkv`: attention and feed-forward.
  Stream Finish(const Block& block, const torch::Tensor& residual, const torch::Tensor& qkv,
                const Batch& batch);

  LlamaShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  torch::Tensor embed_, norm_;
  const Matrix* head_;
  std::vector<Block> blocks_;
};

// Floating-point operations of one layer's forward pass over `rows` tokens in sequences of
// `length`: of all its matrix products, and of attention only.
double BlockFlops(const LlamaShape& shape, int64_t rows, int64_t length);
double AttentionFlops(const LlamaShape& shape, int64_t rows, int64_t length);

}  // namespace foretoken::train
