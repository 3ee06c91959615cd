#include "scored_head.h"

#include <algorithm>
#include <numeric>

namespace foretoken::train {

using torch::Tensor;

std::vector<int64_t> CommonTokens(const Corpus& corpus, int64_t count, int64_t vocab) {
  struct Counts {
    int64_t with_loss = 0, without_loss = 0;
    auto operator<=>(const Counts&) const = default;
  };
  std::vector<Counts> counts(static_cast<size_t>(vocab));
  for (const CorpusDocument& document : corpus.documents) {
    if (document.heldout) continue;
    for (int64_t i = document.first; i < document.first + document.length; ++i) {
      Counts& token_counts = counts[corpus.ids[i]];
      ++(corpus.learn[i] != 0 ? token_counts.with_loss : token_counts.without_loss);
    }
  }
  std::vector<int64_t> tokens(static_cast<size_t>(vocab));
  std::iota(tokens.begin(), tokens.end(), 0);
  std::ranges::stable_sort(tokens, [&](int64_t a, int64_t b) { return counts[a] > counts[b]; });
  tokens.resize(static_cast<size_t>(std::min(count, vocab)));
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
