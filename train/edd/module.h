// The network of EDD and VDM (E-17, E-26): a decoder layer that attends to the target's hidden
// states (the soft prompt, which takes the place of the text) and to the tokens of a block. Its
// counterpart in the engine is src/draft/edd.
#pragma once

#include <torch/types.h>

#include "target.h"

namespace foretoken::train {

struct EddParts {
  bool encoder = true;          // attends to hidden states; false: to all tokens (VDM)
  bool train_embedding = true;  // trains a copy of the target's embedding; false: uses the target's
  bool train_head = true;       // trains a copy of the target's LM head; false: uses the target's
};

// Rows are positions of packed documents.
struct EddInputs {
  int64_t batch = 0, length = 0;
  torch::Tensor tokens;     // [rows] int32
  torch::Tensor first_key;  // [batch, length] int32
  // With an encoder:
  torch::Tensor states;  // [rows, hidden] f32: the target's
  torch::Tensor starts;  // [batch, length] int32: the start of each position's block
  int64_t longest = 0;   // maximum number of tokens in a block
};

class EddModule {
 public:
  // Parameters carry the published names (embedding_layer.weight, decoder.self_attn.q_proj.weight,
  // ...). Embedding and LM head are the target's or copies of them, as `parts` says. `target` must
  // outlive this.
  EddModule(const FrozenTarget& target, const EddParts& parts, WeightOptions options);

  WeightSet& weights() { return weights_; }
  bool encodes() const { return parts_.encoder; }
  // Returns the input of the LM head, [rows, hidden] in the compute type: row p predicts token p
  // + 1.
  torch::Tensor Forward(const EddInputs& inputs);
  const Matrix& head() const { return *head_; }

  // Floating-point operations of Forward.
  double ForwardFlops(int64_t rows, int64_t length) const;

 private:
  torch::Tensor Attend(const EddInputs& inputs, const torch::Tensor& normed);

  EddParts parts_;
  LlamaShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  torch::Tensor embedding_, norm_;
  Block block_;
  const Matrix* head_;
};

}  // namespace foretoken::train
