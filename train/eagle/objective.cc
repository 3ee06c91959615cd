#include "eagle/objective.h"

#include <tuple>

namespace foretoken::train {
namespace {

using torch::Tensor;

Tensor TopIds(const Tensor& logits, int64_t top) {
  return std::get<1>(logits.topk(std::min(top, logits.size(1)), 1));
}

// Returns, by row, -sum of p log q over the tokens where `among` is true.
Tensor CrossEntropyAmong(const Tensor& among, const Tensor& target, const Tensor& draft) {
  const Tensor p = torch::softmax(target, 1), log_q = torch::log_softmax(draft, 1);
  return -(p * log_q).masked_fill(among.logical_not(), 0.0).sum(1);
}

// Top-P: cross-entropy over the smallest set of the target's tokens whose mass exceeds P.
Tensor TopMass(const Tensor& target, const Tensor& draft, const ObjectiveOptions& o) {
  const Tensor p = torch::softmax(target, 1);
  const auto [sorted, ids] = p.sort(/*stable=*/true, 1, /*descending=*/true);
  const Tensor taken = (sorted.cumsum(1) - sorted).le(o.mass);
  const Tensor among = torch::zeros_like(taken).scatter(1, ids, taken);
  return CrossEntropyAmong(among, target, draft);
}

// Top-K with both distributions divided by their mass on the target's top K.
Tensor NormedLinear(const Tensor& target, const Tensor& draft, const ObjectiveOptions& o) {
  const Tensor ids = TopIds(target, o.top);
  const Tensor p = torch::softmax(target.gather(1, ids), 1);
  return -(p * torch::log_softmax(draft.gather(1, ids), 1)).sum(1);
}

// Top-K with a softmax over the probabilities of the target's top K. (A softmax over their logits
// would equal dividing by the mass.)
Tensor NormedSoftmax(const Tensor& target, const Tensor& draft, const ObjectiveOptions& o) {
  const Tensor ids = TopIds(target, o.top);
  const Tensor p = torch::softmax(torch::softmax(target, 1).gather(1, ids), 1);
  const Tensor log_q = torch::log_softmax(torch::softmax(draft, 1).gather(1, ids), 1);
  return -(p * log_q).sum(1);
}

// Cross-entropy over the union of the target's and the draft's top K.
Tensor BothTops(const Tensor& target, const Tensor& draft, const ObjectiveOptions& o) {
  const Tensor no_tokens = torch::zeros(target.sizes(), target.options().dtype(torch::kBool));
  const Tensor among = no_tokens.scatter(1, TopIds(target, o.top), true)
                           .scatter(1, TopIds(draft.detach(), o.top), true);
  return CrossEntropyAmong(among, target, draft);
}

// The complement of recall: 1 - the share of the target's top K that is in the draft's top K, with
// step functions replaced by sigmoids (Patel et al. 2022). The soft rank of a token is 1 + the sum
// of sigmoid((other logit - own logit) / temperature) over the other tokens.
Tensor RecallSurrogate(const Tensor& target, const Tensor& draft, const ObjectiveOptions& o) {
  const Tensor wanted = draft.gather(1, TopIds(target, o.top));  // [rows, K]
  std::vector<Tensor> found;
  for (const Tensor& score : wanted.unbind(1)) {
    const Tensor ahead = torch::sigmoid((draft - score.unsqueeze(1)) / o.temperature).sum(1);
    const Tensor rank = 1.0 + ahead - 0.5;  // without the token's own sigmoid(0)
    found.push_back(torch::sigmoid((static_cast<double>(o.top) - rank) / o.temperature));
  }
  return 1.0 - torch::stack(found, 1).mean(1);
}

// Returns the log-softmax of the differences between all pairs of the K logits.
Tensor Differences(const Tensor& logits, const Tensor& ids, double temperature) {
  const Tensor top = logits.gather(1, ids);
  const Tensor pairs = torch::ones({ids.size(1), ids.size(1)}, logits.options()).triu(1).nonzero();
  const auto side = [&](int64_t which) { return top.index_select(1, pairs.select(1, which)); };
  return torch::log_softmax((side(0) - side(1)) / temperature, 1);
}

Tensor Divergence(const Tensor& log_p, const Tensor& log_q) {
  return (log_p.exp() * (log_p - log_q)).sum(1);
}

// BiLD (Li et al. 2024): KL between the logit differences over the target's top K, plus that over
// the draft's top K.
Tensor LogitDifferences(const Tensor& target, const Tensor& draft, const ObjectiveOptions& o) {
  Tensor loss = torch::zeros({target.size(0)}, target.options());
  for (const Tensor& leader : {target, draft}) {
    const Tensor ids = TopIds(leader.detach(), o.top);
    loss = loss + Divergence(Differences(target, ids, o.temperature),
                             Differences(draft, ids, o.temperature));
  }
  return loss;
}

constexpr ObjectiveEntry kObjectives[] = {
    {"topk", nullptr},
    {"topp", &TopMass},
    {"normed_topk_linear", &NormedLinear},
    {"normed_topk_softmax", &NormedSoftmax},
    {"bidirectional_topk", &BothTops},
    {"recall", &RecallSurrogate},
    {"bild", &LogitDifferences},
};

}  // namespace

std::span<const ObjectiveEntry> AllObjectives() { return kObjectives; }

const ObjectiveEntry* FindObjective(std::string_view name) {
  for (const ObjectiveEntry& entry : kObjectives) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace foretoken::train
