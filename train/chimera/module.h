// The draft module of Chimera (C-17 to C-19, C-22). The engine's twin is src/draft/chimera.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "target.h"

namespace foretoken::train {

struct ChimeraShape {
  int64_t heads = 4, ngram = 3;
  bool shared_output = false;  // heads end in the target's LM head
};

// A batch as the encoder sees it, on behalf of each head. Row p of a head's output stands for the
// draft whose last known feature is that of p - 1 - head.
struct ChimeraContext {
  std::vector<torch::Tensor> states;  // [heads] of [rows, hidden] f32: the n-grams' that end there
  std::vector<torch::Tensor> attended;  // [heads] of [rows, heads * head_dim]
};

// The rows of a batch that hold the tokens of the n-gram that ends at each row: [rows, n] int64
// (C-2). Where a document has fewer tokens, the row itself fills what is left.
torch::Tensor NgramRows(const Batch& batch, int64_t n);
// The tokens there, int64, where the last ones of each, as many as there are guesses, are the
// draft's own: guesses[i] [rows] int64 is what head i says comes after each row. Rows that no draft
// reaches keep the text's.
torch::Tensor SelfFedIds(const Batch& batch, const torch::Tensor& ngram_rows,
                         std::span<const torch::Tensor> guesses);

class ChimeraModule {
 public:
  // Heads begin as the target's LM head on the sum of their two inputs.
  ChimeraModule(const FrozenTarget& target, const ChimeraShape& shape, WeightOptions options);

  WeightSet& weights() { return weights_; }
  int64_t heads() const { return shape_.heads; }

  // `features` [rows, hidden]: the target's.
  ChimeraContext Encode(const Batch& batch, const torch::Tensor& features);
  // The same where heads after the first get the draft's likeliest tokens, not the text's
  // (C-4). Their inputs are detached: the n-gram encoder learns of the first head only.
  ChimeraContext EncodeSelfFed(const Batch& batch, const torch::Tensor& features);
  // What the layer makes of the states of `rows` (int64) for a head: [rows, hidden] f32.
  torch::Tensor Output(const ChimeraContext& context, int64_t head,
                       const torch::Tensor& rows) const;
  // The mean of (output - feature)^2, of head 0 and every token but the documents' first: the
  // outputs are to be what the target will make of the tokens.
  torch::Tensor Distance(const Batch& batch, const ChimeraContext& context,
                         const torch::Tensor& features) const;
  // What scores(head) is multiplied with: of the features [rows, hidden] of the tokens before the
  // roots, and the head's outputs.
  torch::Tensor States(int64_t head, const torch::Tensor& features,
                       const torch::Tensor& outputs) const;
  const Matrix& scores(int64_t head) const;

  // Forward operations of Encode, of a head's Output, and of a head's States and scores.
  double EncoderFlops(int64_t rows, int64_t length) const;
  // What a step with EncodeSelfFed executes beyond one with Encode, backward operations included.
  double SelfFedFlops(int64_t rows, int64_t length) const;
  double OutputFlops(int64_t rows) const;
  double HeadFlops(int64_t rows) const;

 private:
  torch::Tensor NgramStates(const torch::Tensor& ids) const;  // [rows, n] to [rows, hidden]
  NormResult Normed(const torch::Tensor& states) const;       // as the layer reads them
  torch::Tensor KeysValues(const torch::Tensor& features) const;
  // What the head says comes after each row, [rows] int64.
  torch::Tensor Guesses(const ChimeraContext& context, int64_t head,
                        const torch::Tensor& features) const;
  double NgramFlops(int64_t rows) const;
  double ScoreFlops(int64_t rows, int64_t length) const;  // of a head's queries

  const FrozenTarget& target_;
  ChimeraShape shape_;
  WeightSet weights_;
  RopeTables ropes_;
  const Matrix *mixed_, *output_;  // of the n-gram encoder
  torch::Tensor mixed_bias_;
  Block block_;
  std::vector<const Matrix*> heads_;  // [vocab, 2 * hidden], or [hidden, 2 * hidden]
};

}  // namespace foretoken::train
