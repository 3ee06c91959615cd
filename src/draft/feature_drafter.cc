#include "draft/feature_drafter.h"

#include <algorithm>
#include <numeric>

namespace foretoken {

TapSpec FeatureDrafter::Needs() const {
  if (!content_.feature) return {};
  return {.hidden = {*content_.feature}};
}

void FeatureDrafter::Prepare(State& state) const {
  state.cache = net_.NewCache(capacity_ + kRoomForDrafts, cache_type_);
  if (content_.feature) {
    state.features = net_.backend().Allocate(DType::kF32, capacity_, net_.hidden());
  }
  state.root = net_.backend().Allocate(DType::kF32, 1, net_.hidden());
}

void FeatureDrafter::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    auto& state = static_cast<State&>(o.state);
    if (content_.feature) KeepFeatures(o, state);
    state.Append(o);  // fed by the next draft: there may never be one
  }
}

void FeatureDrafter::KeepFeatures(const Observation& o, State& state) {
  const Tensor features = o.taps.Hidden(*content_.feature);
  // Rows that follow each other, as a prompt's all do, are copied together.
  for (size_t i = 0, count = 1; i < o.path.size(); i += count, count = 1) {
    while (i + count < o.path.size() && o.path[i + count] == o.path[i + count - 1] + 1) ++count;
    const auto rows = static_cast<int64_t>(count);
    const int64_t to = state.committed + static_cast<int64_t>(i);
    net_.backend().StoreRows(features.Rows(o.path[i], rows), state.features.tensor.Rows(to, rows));
  }
}

void FeatureDrafter::Truncate(DraftState& draft_state, int length) {
  auto& state = static_cast<State&>(draft_state);
  state.cache->Truncate(std::min(state.rows(), std::max(0, length - content_.ahead)));
  state.TextState::Truncate(length);
}

void FeatureDrafter::Forget(std::span<const DraftSlot> batch) {
  for (const DraftSlot& slot : batch) static_cast<State&>(slot.state).cache->Commit({});
}

void FeatureDrafter::CatchUp(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  std::vector<State*> states;
  for (const DraftLevel& level : levels) {
    if (level.nodes[0] == 0) states.push_back(&static_cast<State&>(batch[level.slot].state));
  }
  while (true) {
    int missing = 0;
    for (const State* state : states) missing += state->unread();
    if (missing == 0) return;
    Feed(states, std::min(missing, net_.max_rows()));
  }
}

// One pass of `rows` rows, taken from the states in order.
void FeatureDrafter::Feed(std::span<State* const> states, int rows) {
  RowBatch batch;
  std::vector<State*> fed;
  std::vector<KvCache*> caches;
  const Tensor features = content_.feature ? net_.Features(rows) : Tensor{};
  for (State* state : states) {
    const int first = state->rows();
    const int count = std::min(state->unread(), rows - batch.rows());
    if (count == 0) continue;
    if (content_.feature) {
      net_.backend().StoreRows(state->features.tensor.Rows(first, count),
                               features.Rows(batch.rows(), count));
    }
    for (int i = 0; i < count; ++i) {
      const int row = first + i;
      AddRow(batch, state->text[static_cast<size_t>(row + content_.ahead)], row, i - 1);
    }
    batch.begin.push_back(batch.rows());
    fed.push_back(state);
    caches.push_back(state->cache.get());
  }
  const Tensor outputs = net_.Forward(batch, caches);
  for (size_t s = 0; s < fed.size(); ++s) {
    std::vector<Node> path(static_cast<size_t>(batch.begin[s + 1] - batch.begin[s]));
    std::iota(path.begin(), path.end(), 0);
    fed[s]->cache->Commit(path);
    if (outputs.empty()) continue;
    net_.backend().StoreRows(outputs.Rows(batch.begin[s + 1] - 1, 1), fed[s]->root.tensor);
  }
}

void FeatureDrafter::OfferLevels(std::span<const DraftSlot> batch,
                                 std::span<const DraftLevel> levels, Tensor logits,
                                 bool share_noise) {
  row_.resize(static_cast<size_t>(logits.cols));
  int at = 0;
  for (const DraftLevel& level : levels) {
    const DraftSlot& slot = batch[level.slot];
    Sampler sampler(share_noise || slot.builder.wants_draws() ? slot.sampling : SamplingParams{});
    for (const Node node : level.nodes) {
      net_.backend().Download(logits.Rows(at++, 1), row_.data());
      OfferFromLogits(slot, node, static_cast<State&>(slot.state).text, row_, sampler);
    }
  }
}

}  // namespace foretoken
