// The rows of a target's LM head that a draft's losses score.
#pragma once

#include <torch/types.h>

#include <vector>

#include "corpus.h"
#include "llama.h"

namespace foretoken::train {

// The `count` tokens below `vocab` that `corpus` has most often among those to be learnt, then
// among its others, then by id; in ascending order. Held-out documents do not count.
std::vector<int64_t> CommonTokens(const Corpus& corpus, int64_t count, int64_t vocab);

// All rows of the head, or those of some tokens: the rest costs no product, and no loss teaches it.
class ScoredHead {
 public:
  // `head` [vocab, hidden]; `tokens`: ascending, empty for all.
  ScoredHead(const torch::Tensor& head, const std::vector<int64_t>& tokens);

  const torch::Tensor& rows() const { return rows_; }  // [scored, hidden]
  double Share() const { return share_; }              // of the head's rows
  // [rows] f32: 1 where the token that the batch's text has after row + 1 is scored, else 0.
  // Undefined where all are.
  torch::Tensor Scores(const Batch& batch) const;
  // Tokens of the head [vocab] from places among the scored rows, both int64.
  torch::Tensor Tokens(const torch::Tensor& places) const;

 private:
  torch::Tensor rows_;
  double share_ = 1.0;
  torch::Tensor tokens_;     // [scored] int64; undefined where all are scored
  torch::Tensor is_scored_;  // [vocab] f32; the same
};

}  // namespace foretoken::train
