// The part of a target's vocabulary over which a draft's losses are computed.
#pragma once

#include <torch/types.h>

#include <vector>

#include "corpus.h"
#include "llama.h"

namespace foretoken::train {

// Returns, in ascending order, the `count` tokens below `vocab` that are most frequent in `corpus`
// among the tokens with a loss. Ties are broken by the frequency among tokens without a loss, then
// in favour of the lower id. Held-out documents do not count.
std::vector<int64_t> CommonTokens(const Corpus& corpus, int64_t count, int64_t vocab);

// The rows of an LM head for all tokens, or for the tokens that are scored. The others have no
// logits and no loss.
class ScoredHead {
 public:
  // `head`: [vocab, hidden]; `tokens`: the scored tokens, ascending; empty for all.
  ScoredHead(const torch::Tensor& head, const std::vector<int64_t>& tokens);

  const torch::Tensor& rows() const { return rows_; }  // [scored, hidden]
  double Share() const { return share_; }              // scored rows / all rows
  // Returns [rows] f32: 1 in row r if batch.targets[r + 1], the token that the draft predicts
  // there, is scored, else 0. Undefined if all tokens are scored.
  torch::Tensor Scores(const Batch& batch) const;
  // Converts indices of scored rows to token ids. Both are int64 and of the same shape.
  torch::Tensor Tokens(const torch::Tensor& indices) const;

 private:
  torch::Tensor rows_;
  double share_ = 1.0;
  torch::Tensor tokens_;     // [scored] int64; undefined if all are scored
  torch::Tensor is_scored_;  // [vocab] f32; undefined if all are scored
};

}  // namespace foretoken::train
