// The draft module of Chimera (C-17 to C-19, C-22). Its counterpart in the engine is
// src/draft/chimera.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "target.h"

namespace foretoken::train {

struct ChimeraShape {
  int64_t heads = 4, ngram = 3;
  bool shared_output = false;  // the target's LM head computes the heads' logits
};

// The encoder's results for each head. For head k, row p belongs to the draft whose last known
// feature is that of position p - 1 - k.
struct ChimeraContext {
  std::vector<torch::Tensor>
      states;  // [heads] of [rows, hidden] f32: the state of the n-gram that ends at the row
  std::vector<torch::Tensor> attended;  // [heads] of [rows, heads * head_dim]
};

// Returns, for each row, the rows of the n-gram that ends there: [rows, n] int64. Near a document's
// beginning, the tokens that exist come first, and the remaining places repeat the row itself
// (C-2).
torch::Tensor NgramRows(const Batch& batch, int64_t n);
// Returns the tokens at `ngram_rows`, int64, with the last guesses.size() tokens of each n-gram
// replaced by the draft's guesses. guesses[i]: [rows] int64, the prediction of head i after each
// row. Rows that no draft reaches keep the text's tokens.
torch::Tensor SelfFedIds(const Batch& batch, const torch::Tensor& ngram_rows,
                         std::span<const torch::Tensor> guesses);

class ChimeraModule {
 public:
  // Heads are initialised to the target's LM head applied to the sum of their two inputs. `target`
  // must outlive this.
  ChimeraModule(const FrozenTarget& target, const ChimeraShape& shape, WeightOptions options);

  WeightSet& weights() { return weights_; }
  int64_t heads() const { return shape_.heads; }

  // Encodes a batch for all heads. `features` [rows, hidden]: those of the target.
  ChimeraContext Encode(const Batch& batch, const torch::Tensor& features);
  // Encodes a batch in which every head after the first reads the draft's most likely tokens
  // instead of the text's (C-4). The inputs of those heads are detached, so only the first head
  // trains the n-gram encoder.
  ChimeraContext EncodeSelfFed(const Batch& batch, const torch::Tensor& features);
  // Returns the layer's output at `rows` (int64) for a head: [rows, hidden] f32.
  torch::Tensor Output(const ChimeraContext& context, int64_t head,
                       const torch::Tensor& rows) const;
  // Returns the mean of (output - feature)^2 for head 0 over all tokens except the first of each
  // document: outputs should predict the target's features of these tokens.
  torch::Tensor Distance(const Batch& batch, const ChimeraContext& context,
                         const torch::Tensor& features) const;
  // Returns the input of scores(head). `features` [rows, hidden]: those of the tokens before the
  // roots; `outputs`: Output of the head.
  torch::Tensor States(int64_t head, const torch::Tensor& features,
                       const torch::Tensor& outputs) const;
  const Matrix& scores(int64_t head) const;

  // Forward floating-point operations: EncoderFlops of Encode, OutputFlops of a head's Output,
  // HeadFlops of a head's States and scores.
  double EncoderFlops(int64_t rows, int64_t length) const;
  // Forward and backward operations that EncodeSelfFed executes in addition to those of Encode.
  double SelfFedFlops(int64_t rows, int64_t length) const;
  double OutputFlops(int64_t rows) const;
  double HeadFlops(int64_t rows) const;

 private:
  torch::Tensor NgramStates(const torch::Tensor& ids) const;  // [rows, n] to [rows, hidden]
  NormResult Normed(const torch::Tensor& states) const;       // the layer's input norm
  torch::Tensor KeysValues(const torch::Tensor& features) const;
  // Returns the head's prediction after each row, [rows] int64.
  torch::Tensor Guesses(const ChimeraContext& context, int64_t head,
                        const torch::Tensor& features) const;
  double NgramFlops(int64_t rows) const;
  // Operations of the attention scores, or of the products of one head's probabilities and values.
  double ScoreFlops(int64_t rows, int64_t length) const;

  const FrozenTarget& target_;
  ChimeraShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  const Matrix *ngram_inner_, *ngram_output_;
  torch::Tensor ngram_inner_bias_;
  Block block_;
  std::vector<const Matrix*> heads_;  // [vocab, 2 * hidden], or [hidden, 2 * hidden]
};

}  // namespace foretoken::train
