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

ScoredHead::ScoredHead(const Tensor& head, const std::vector<int64_t>& tokens) : rows_(head) {
  if (tokens.empty()) return;
  const torch::NoGradGuard no_grad;
  tokens_ = torch::tensor(tokens, torch::kInt64).to(head.device());
  rows_ = head.index_select(0, tokens_).contiguous();
  share_ = static_cast<double>(rows_.size(0)) / static_cast<double>(head.size(0));
  is_scored_ = torch::zeros({head.size(0)}, rows_.options().dtype(torch::kFloat32));
  is_scored_.index_fill_(0, tokens_, 1.0);
}

Tensor ScoredHead::Scores(const Batch& batch) const {
  if (!is_scored_.defined()) return {};
  return is_scored_.index_select(0, batch.targets.roll(-1, 0));
}

Tensor ScoredHead::Tokens(const Tensor& indices) const {
  if (!tokens_.defined()) return indices;
  return tokens_.index_select(0, indices.reshape({-1})).view(indices.sizes());
}

}  // namespace foretoken::train
