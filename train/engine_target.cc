#include "engine_target.h"

#include <algorithm>

#include "backend/backend.h"
#include "model/kv_cache.h"
#include "model/taps.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// Rows [first, first + count) of a document, each the parent of the next.
RowBatch ChainOf(const int32_t* ids, int64_t first, int64_t count) {
  RowBatch rows;
  for (int64_t i = 0; i < count; ++i) {
    rows.token.push_back(ids[first + i]);
    rows.position.push_back(static_cast<Pos>(first + i));
    rows.parent.push_back(i == 0 ? kNoNode : static_cast<Node>(i - 1));
  }
  rows.begin.push_back(rows.rows());
  return rows;
}

void CheckStatus(const Status& status) {
  TORCH_CHECK(status.ok(), status.ok() ? "" : status.error().message);
}

}  // namespace

Result<std::unique_ptr<EngineTarget>> EngineTarget::Open(const ModelFile& file, int threads) {
  FT_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, NewBackend("cpu", {.threads = threads}));
  FT_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, LoadModel(file, *backend));
  return std::unique_ptr<EngineTarget>(new EngineTarget(std::move(backend), std::move(model)));
}

std::vector<Tensor> EngineTarget::HiddenStates(const Batch& document,
                                               const std::vector<int>& indices) {
  const auto* ids = document.ids.data_ptr<int32_t>();
  const int64_t rows = document.length, hidden = model_->config().hidden;
  std::vector<Tensor> states;
  for (size_t i = 0; i < indices.size(); ++i) states.push_back(torch::empty({rows, hidden}));
  TapSpec spec{.hidden = indices};
  std::ranges::sort(spec.hidden);
  spec.hidden.erase(std::unique(spec.hidden.begin(), spec.hidden.end()), spec.hidden.end());
  const auto cache = model_->NewCache(static_cast<int>(rows), DType::kF16);
  for (int64_t first = 0; first < rows; first += model_->max_rows()) {
    const int64_t count = std::min<int64_t>(model_->max_rows(), rows - first);
    KvCache* const caches[] = {cache.get()};
    Taps taps;
    const auto scored = model_->Forward(ChainOf(ids, first, count), caches, spec, {&taps, 1});
    CheckStatus(scored.ok() ? Status() : Status(scored.error()));
    for (size_t i = 0; i < indices.size(); ++i) {
      backend_->Download(taps.Hidden(indices[i]), states[i].data_ptr<float>() + first * hidden);
    }
    std::vector<Node> path(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) path[static_cast<size_t>(i)] = static_cast<Node>(i);
    cache->Commit(path);
  }
  CheckStatus(backend_->TakeFailure());
  return states;
}

}  // namespace foretoken::train
