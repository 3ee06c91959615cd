#include "head_rows.h"

namespace foretoken::train {

using torch::Tensor;

HeadRows RowsOfHead(const Batch& batch, int64_t head, int64_t skip) {
  const int64_t rows = batch.ids.size(0), ahead = head + 1;
  const int64_t count = std::max<int64_t>(rows - ahead, 0);
  const auto options = batch.first_key.options();
  const Tensor sequence = torch::arange(batch.batch, options).view({-1, 1}) * batch.length;
  const Tensor document = (batch.first_key + sequence).view({-1});  // identified by its first row
  const Tensor same_document =
      document.narrow(0, rows - count, count).eq(document.narrow(0, 0, count));
  const Tensor learnt = batch.weights.narrow(0, rows - count, count).gt(0);
  const Tensor inside = (torch::arange(count, options) - document.narrow(0, 0, count)).ge(skip);
  const Tensor learning_rows =
      same_document.logical_and(learnt).logical_and(inside).nonzero().squeeze(1);
  return {learning_rows, batch.targets.index_select(0, learning_rows + ahead)};
}

Tensor HeadLoss(const Tensor& states, const Matrix& output_matrix, const Tensor& targets,
                double scale) {
  if (targets.size(0) == 0) return torch::zeros({}, targets.options().dtype(torch::kFloat32));
  const Tensor ones = torch::ones({targets.size(0)}, targets.options().dtype(torch::kFloat32));
  return LmLoss(states, output_matrix, targets, ones, scale, kLossChunk);
}

}  // namespace foretoken::train
