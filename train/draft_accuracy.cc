#include "draft_accuracy.h"

#include <algorithm>
#include <tuple>

#include "base/number_text.h"
#include "head_rows.h"
#include "io/draft_file.h"
#include "ops.h"

namespace foretoken::train {

using torch::Tensor;

Tensor Likeliest(const Tensor& features, const Tensor& head) {
  std::vector<Tensor> ids;
  for (const Tensor& part : features.split(kLossChunk)) {
    const Tensor logits = at::mm(part.to(head.scalar_type()), head.t());
    ids.push_back(std::get<1>(logits.topk(kLikeliest, 1)));
  }
  return torch::cat(ids);
}

Tensor JudgedRows(const Batch& batch) {
  const Tensor has_next = batch.inner.gt(0);  // the guess is compared with the next row
  const Tensor judged = has_next.logical_or(has_next.roll(1, 0)).logical_or(batch.weights.gt(0));
  return judged.nonzero().squeeze(1);
}

Tensor AtRows(const Tensor& tokens, const Tensor& rows, int64_t count) {
  Tensor all = torch::full({count, tokens.size(1)}, -1, tokens.options());
  return all.index_copy_(0, rows, tokens);
}

void DraftAccuracy::Add(const Batch& batch, const Tensor& said,
                        const std::vector<Tensor>& guesses) {
  const Tensor answer = said.select(1, 0);
  const Tensor text_agrees = answer.eq(batch.targets).logical_and(batch.inner.gt(0));
  const Tensor next_answer = answer.roll(-1, 0);
  // Drafts without a miss, at the row of their next step.
  Tensor alive = torch::ones_like(text_agrees);
  for (size_t step = 0; step < guesses.size(); ++step) {
    alive = alive.logical_and(text_agrees);
    reached_[step] += alive.sum().item<double>();
    alive = alive.logical_and(guesses[step].select(1, 0).eq(next_answer));
    correct_[step] += alive.sum().item<double>();
    alive = alive.roll(1, 0);
    alive[0] = false;
  }
  AddRanks(batch, guesses);
}

void DraftAccuracy::AddRanks(const Batch& batch, const std::vector<Tensor>& guesses) {
  for (size_t step = 0; step < guesses.size(); ++step) {
    const auto ahead = static_cast<int64_t>(step);
    const HeadRows head_rows = RowsOfHead(batch, ahead);
    const Tensor hits =
        guesses[step].index_select(0, head_rows.rows + ahead).eq(head_rows.targets.unsqueeze(1));
    top1_hits_[step] += hits.select(1, 0).sum().item<double>();
    top_hits_[step] += hits.sum().item<double>();
    predicted_[step] += static_cast<double>(head_rows.rows.size(0));
  }
}

void DraftAccuracy::AppendTo(Metrics& metrics) const {
  std::vector<double> alpha;
  for (size_t step = 0; step < correct_.size(); ++step) {
    alpha.push_back(correct_[step] / std::max(reached_[step], 1.0));
    metrics.emplace_back(kForcedAlpha + std::to_string(step + 1), alpha.back());
  }
  metrics.emplace_back(kForcedTau, AcceptanceLength(alpha));
  for (size_t step = 0; step < correct_.size(); ++step) {
    const double predicted = std::max(predicted_[step], 1.0);
    const std::string number = std::to_string(step + 1);
    metrics.emplace_back("top1_" + number, top1_hits_[step] / predicted);
    metrics.emplace_back("top" + std::to_string(kLikeliest) + "_" + number,
                         top_hits_[step] / predicted);
  }
}

Metrics DraftTask::Evaluate(const std::vector<Batch>& batches) {
  torch::NoGradGuard no_grad;
  DraftAccuracy accuracy(steps());
  double loss = 0.0, loss_terms = 0.0;
  for (const Batch& batch : batches) {
    const HeldOut held_out = EvaluateHeldOut(batch);
    loss += held_out.loss;
    loss_terms += held_out.loss_terms;
    accuracy.Add(batch, held_out.said, held_out.guesses);
  }
  Metrics metrics = {{"heldout_loss", loss / std::max(loss_terms, 1.0)}};
  accuracy.AppendTo(metrics);
  return metrics;
}

std::string DraftTask::Summary(const Metrics& evaluated) const {
  std::string tau, alphas;
  for (const auto& [name, value] : evaluated) {
    if (name == kForcedTau) tau = NumberText("teacher-forced tau %.2f", value);
    if (name.starts_with(kForcedAlpha))
      alphas += NumberText(alphas.empty() ? "%.2f" : " %.2f", value);
  }
  return tau + " (" + alphas + ")";
}

}  // namespace foretoken::train
