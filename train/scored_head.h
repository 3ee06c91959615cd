// The part of a target's vocabulary over which a draft's losses are computed.
#pragma once

#include <torch/types.h>

#include <vector>

#include "io/token_ranking.h"
#include "llama.h"

namespace foretoken::train {

// Returns, in ascending order, the first `count` tokens of a ranking, or all if it has fewer.
std::vector<int64_t> CommonTokens(const TokenRanking& ranking, int64_t count);

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
