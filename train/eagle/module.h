// The draft module of EAGLE and HASS (H-16): fc([embedding; feature]), then one decoder layer
// without an input norm. Its output is a predicted feature, which the target's LM head turns into
// logits. Its counterpart in the engine is src/draft/eagle.
#pragma once

#include <torch/types.h>

#include <functional>
#include <span>
#include <vector>

#include "llama.h"

namespace foretoken::train {

// The module's inputs. Rows are positions of packed documents: row i of a document holds the pair
// (feature f_i, token x_{i+1}).
struct EagleInputs {
  int64_t batch = 0, length = 0;
  torch::Tensor embeddings;  // [rows, hidden] of the pairs' tokens, compute type
  torch::Tensor features;    // [rows, hidden], the target's, noise included; compute type
  torch::Tensor first_key;   // [batch, length] int32
  // Returns the embeddings of a pass after the first, given the features predicted for its rows
  // [rows, hidden]. Null: all passes use `embeddings`.
  std::function<torch::Tensor(const torch::Tensor& guessed, int64_t pass)> embeddings_of;
};

// The inputs of one pass, [rows, hidden] each, in the compute type.
struct EaglePassInputs {
  torch::Tensor embeddings, features;
};

class EagleModule {
 public:
  // Parameters carry the published names (fc.weight, layers.0.self_attn.q_proj.weight, ...).
  // `fc_bias`: whether fc has a bias.
  EagleModule(const LlamaShape& shape, WeightOptions options, bool fc_bias = true);

  WeightSet& weights() { return weights_; }

  // Returns the outputs of `passes` alignment passes (H-25), concatenated: [passes * rows, hidden]
  // f32. Row r of pass j simulates draft step j. Its query comes from the feature that pass j - 1
  // predicted for r (in pass 1: the target's feature); AlignedAttention says which keys it attends
  // to. Predicted features are detached: gradients flow through weights only.
  torch::Tensor Forward(const EagleInputs& inputs, int64_t passes);
  // Returns the output of pass pass_inputs.size(), given the inputs of all passes so far: [rows,
  // hidden] f32. Keys and values of all passes are computed with the current weights.
  torch::Tensor LastPass(const EagleInputs& inputs, std::span<const EaglePassInputs> pass_inputs);
  // Return the inputs of the first pass, and of pass `pass` (from 0), given the outputs of the pass
  // before it.
  static EaglePassInputs FirstInputs(const EagleInputs& inputs) {
    return {inputs.embeddings, inputs.features};
  }
  static EaglePassInputs NextInputs(const EagleInputs& inputs, const torch::Tensor& outputs,
                                    int64_t pass);

  // Forward floating-point operations of one pass, of its fc and of its qkv product.
  double PassFlops(int64_t rows, int64_t length) const;
  double FcFlops(int64_t rows) const;
  double QkvFlops(int64_t rows) const;

 private:
  // The layer's input in a pass, and its queries, keys and values.
  struct Source {
    torch::Tensor wide, qkv;
  };
  Source SourceOf(const EaglePassInputs& pass_inputs) const;
  // Returns the layer's output for the last source.
  torch::Tensor Output(const EagleInputs& inputs, std::span<const Source> sources);

  LlamaShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  const Matrix* fc_;
  torch::Tensor fc_bias_;
  Block block_;
};

}  // namespace foretoken::train
