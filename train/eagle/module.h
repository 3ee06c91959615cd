// The draft module of EAGLE and HASS (H-16): one decoder layer without input norm behind
// fc([embedding; feature]). Its output is a feature: logits are the target's LM head of it.
// The engine's twin is src/draft/eagle.
#pragma once

#include <torch/types.h>

#include <functional>
#include <span>
#include <vector>

#include "llama.h"

namespace foretoken::train {

// Rows are positions of packed documents: pair i of a document is (feature f_i, token x_{i+1}).
struct EagleInputs {
  int64_t batch = 0, length = 0;
  torch::Tensor embeddings;  // [rows, hidden] of the pairs' tokens, compute type
  torch::Tensor features;    // [rows, hidden], the target's, noise included; compute type
  torch::Tensor first_key;   // [batch, length] int32
  // The embeddings of a pass after the first, from the features that were guessed for its rows
  // [rows, hidden]; null: the same in all.
  std::function<torch::Tensor(const torch::Tensor& guessed, int64_t pass)> embeddings_of;
};

// What a pass reads, [rows, hidden] each, in the compute type.
struct EagleReads {
  torch::Tensor embeddings, features;
};

class EagleModule {
 public:
  // Parameters carry the published names (fc.weight, layers.0.self_attn.q_proj.weight, ...).
  // Without `fc_bias` fc has none.
  EagleModule(const LlamaShape& shape, WeightOptions options, bool fc_bias = true);

  WeightSet& weights() { return weights_; }

  // The outputs of `passes` alignment passes (H-25), one below the other: [passes * rows,
  // hidden] f32. Row r of pass j stands for step j of drafting: its query comes from the feature
  // that pass j - 1 guessed for r (pass 1: the target's), and keys as AlignedAttention has them.
  // Guessed features are detached: gradients flow through weights only.
  torch::Tensor Forward(const EagleInputs& inputs, int64_t passes);
  // The last of as many passes as there are `reads`, whose keys and values come from all of them
  // with the weights as they are now: [rows, hidden] f32.
  torch::Tensor LastPass(const EagleInputs& inputs, std::span<const EagleReads> reads);
  // What pass `pass` (from 0) reads; `outputs`: of the pass before it.
  static EagleReads FirstReads(const EagleInputs& inputs) {
    return {inputs.embeddings, inputs.features};
  }
  static EagleReads NextReads(const EagleInputs& inputs, const torch::Tensor& outputs,
                              int64_t pass);

  // Forward operations of one pass.
  double PassFlops(int64_t rows, int64_t length) const;
  double FcFlops(int64_t rows) const;
  double QkvFlops(int64_t rows) const;

 private:
  // A pass' input of the layer, and its queries, keys and values.
  struct Source {
    torch::Tensor wide, qkv;
  };
  Source SourceOf(const EagleReads& reads) const;
  // What the layer makes of the last source.
  torch::Tensor Output(const EagleInputs& inputs, std::span<const Source> sources);

  LlamaShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  const Matrix* fc_;
  torch::Tensor fc_bias_;
  Block block_;
};

}  // namespace foretoken::train
