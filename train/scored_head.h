// The part of a target's vocabulary over which a draft's losses are computed.
#pragma once

#include <torch/types.h>

#include <vector>

#include "head_rows.h"
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

  const torch::Tensor& rows() const { return matrix_.compute; }  // [scored, hidden]
  const Matrix& matrix() const { return matrix_; }               // rows(), frozen
  double Share() const { return share_; }                        // scored rows / all rows
  // Returns [rows] f32: 1 in row r if batch.targets[r + 1], the token that the draft predicts
  // there, is scored, else 0. Undefined if all tokens are scored.
  torch::Tensor Scores(const Batch& batch) const;
  // Returns the rows of `at` whose targets are scored. Their targets are indices of scored rows.
  HeadRows Scored(const HeadRows& at) const;
  // Converts indices of scored rows to token ids. Both are int64 and of the same shape.
  torch::Tensor Tokens(const torch::Tensor& indices) const;

 private:
  Matrix matrix_;
  double share_ = 1.0;
  // Undefined if all tokens are scored:
  torch::Tensor tokens_;   // [scored] int64
  torch::Tensor indices_;  // [vocab] int32: the token's index in tokens_, -1 if it is not scored
};

}  // namespace foretoken::train
