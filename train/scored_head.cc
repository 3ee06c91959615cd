#include "scored_head.h"

#include <algorithm>

namespace foretoken::train {

using torch::Tensor;

std::vector<int64_t> CommonTokens(const TokenRanking& ranking, int64_t count) {
  const TokenRanking first = ranking.First(static_cast<size_t>(count));
  std::vector<int64_t> tokens(first.tokens.begin(), first.tokens.end());
  std::ranges::sort(tokens);
  return tokens;
}

ScoredHead::ScoredHead(const Tensor& head, const std::vector<int64_t>& tokens) : matrix_{{}, head} {
  if (tokens.empty()) return;
  const torch::NoGradGuard no_grad;
  tokens_ = torch::tensor(tokens, torch::kInt64).to(head.device());
  matrix_.compute = head.index_select(0, tokens_).contiguous();
  share_ = static_cast<double>(tokens_.size(0)) / static_cast<double>(head.size(0));
  const auto options = torch::TensorOptions(head.device()).dtype(torch::kInt32);
  indices_ = torch::full({head.size(0)}, -1, options);
  indices_.index_copy_(0, tokens_, torch::arange(tokens_.size(0), options));
}

Tensor ScoredHead::Scores(const Batch& batch) const {
  if (!indices_.defined()) return {};
  return indices_.index_select(0, batch.targets.roll(-1, 0)).ge(0).to(torch::kFloat32);
}

HeadRows ScoredHead::Scored(const HeadRows& at) const {
  if (!indices_.defined()) return at;
  const Tensor indices = indices_.index_select(0, at.targets);
  const Tensor kept = indices.ge(0).nonzero().squeeze(1);
  return {at.rows.index_select(0, kept), indices.index_select(0, kept)};
}

Tensor ScoredHead::Tokens(const Tensor& indices) const {
  if (!tokens_.defined()) return indices;
  return tokens_.index_select(0, indices.reshape({-1})).view(indices.sizes());
}

}  // namespace foretoken::train
