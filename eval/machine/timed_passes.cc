#include "eval/machine/timed_passes.h"

#include <algorithm>
#include <numeric>

#include "base/progress.h"
#include "eval/machine/bench.h"
#include "eval/machine/bench_model.h"

namespace foretoken {

TimedPasses::TimedPasses(Model& model, DType cache_type, int context)
    : model_(model), context_(context), cache_(model.NewCache(context + kBenchRows, cache_type)) {
  Progress progress("filling the context", context, /*quiet=*/context <= kBenchRows);
  status_ = cache_->Reserve(context + kBenchRows);
  for (int done = 0; done < context && status_.ok(); done += kBenchRows) {
    const int rows = std::min(kBenchRows, context - done);
    Pass(done, rows, /*all_logits=*/false);
    if (!status_.ok()) break;
    std::vector<Node> path(static_cast<size_t>(rows));
    std::iota(path.begin(), path.end(), 0);
    cache_->Commit(path);
    progress.Update(done + rows);
  }
  progress.Finish();
}

double TimedPasses::Time(int rows, bool all_logits) {
  const double seconds = Seconds([&] { Pass(context_, rows, all_logits); });
  cache_->Commit({});
  return seconds;
}

double TimedPasses::cache_bytes() const {
  const ModelConfig& c = model_.config();
  const auto row = static_cast<double>(RowBytes(cache_->type(), c.kv_heads * c.head_dim));
  return 2.0 * c.layers * context_ * row;
}

void TimedPasses::Pass(int position, int rows, bool all_logits) {
  if (!status_.ok()) return;
  RowBatch batch;
  for (int i = 0; i < rows; ++i) {
    batch.token.push_back((position + i) * 7919 % model_.config().vocab);
    batch.position.push_back(position + i);
    batch.parent.push_back(i == 0 ? kNoNode : i - 1);
    if (all_logits || i == rows - 1) batch.logit_rows.push_back(i);
  }
  batch.begin.push_back(rows);
  KvCache* const caches[] = {cache_.get()};
  Taps taps[1];
  const Result<Tensor> logits = model_.Forward(batch, caches, {}, taps);
  if (!logits.ok()) {
    status_ = logits.error();
    return;
  }
  chosen_.resize(static_cast<size_t>(logits->rows));
  model_.backend().ArgMax(*logits, chosen_);
}

}  // namespace foretoken
