#include "draft/eagle/eagle.h"

#include <algorithm>
#include <numeric>

namespace foretoken {
namespace {

constexpr int kRoomForDrafts = 256;  // nodes of a draft that can be expanded

void AddRow(RowBatch& batch, Token token, Pos position, Node parent) {
  batch.token.push_back(token);
  batch.position.push_back(position);
  batch.parent.push_back(parent);
}

}  // namespace

std::unique_ptr<DraftState> Eagle::NewState() const {
  auto state = std::make_unique<State>();
  state->cache = net_->NewCache(capacity_ + kRoomForDrafts, rule_.cache_type);
  state->features = net_->backend().Allocate(DType::kF32, capacity_, net_->hidden());
  state->root = net_->backend().Allocate(DType::kF32, 1, net_->hidden());
  state->outputs = net_->backend().Allocate(DType::kF32, kRoomForDrafts, net_->hidden());
  return state;
}

void Eagle::Observe(std::span<const Observation> seen) {
  for (const Observation& o : seen) {
    auto& state = static_cast<State&>(o.state);
    state.cache->Commit({});
    const Tensor features = o.taps.Hidden(layers_);
    for (size_t i = 0; i < o.path.size(); ++i) {
      const int to = state.committed + static_cast<int>(i);
      net_->backend().StoreRows(features.Rows(o.path[i], 1), state.features.tensor.Rows(to, 1));
    }
    state.Append(o);
    State* one = &state;
    if (o.prompt) CatchUp(std::span(&one, 1));
  }
}

void Eagle::Truncate(DraftState& draft_state, int length) {
  auto& state = static_cast<State&>(draft_state);
  state.cache->Truncate(std::min(state.pairs(), std::max(0, length - 1)));
  state.TextState::Truncate(length);
}

// Feeds the pairs that the caches lack, those of several sequences together.
void Eagle::CatchUp(std::span<State* const> states) {
  Backend& backend = net_->backend();
  while (true) {
    RowBatch batch;
    std::vector<State*> fed;
    std::vector<KvCache*> caches;
    int pending = 0;
    for (const State* state : states) pending += state->committed - state->pairs();
    if (pending == 0) return;
    const Tensor features = net_->Features(std::min(pending, net_->max_rows()));
    for (State* state : states) {
      const int first = state->pairs();
      const int count = std::min(state->committed - first, net_->max_rows() - batch.rows());
      if (count == 0) continue;
      backend.StoreRows(state->features.tensor.Rows(first, count),
                        features.Rows(batch.rows(), count));
      for (int i = 0; i < count; ++i) {
        AddRow(batch, state->text[static_cast<size_t>(first + i) + 1], first + i, i - 1);
      }
      batch.begin.push_back(batch.rows());
      fed.push_back(state);
      caches.push_back(state->cache.get());
    }
    const Tensor outputs = net_->Forward(batch, caches);
    for (size_t s = 0; s < fed.size(); ++s) {
      std::vector<Node> path(static_cast<size_t>(batch.begin[s + 1] - batch.begin[s]));
      std::iota(path.begin(), path.end(), 0);
      fed[s]->cache->Commit(path);
      backend.StoreRows(outputs.Rows(batch.begin[s + 1] - 1, 1), fed[s]->root.tensor);
    }
  }
}

void Eagle::Propose(std::span<const DraftSlot> batch) {
  std::vector<State*> states;
  states.reserve(batch.size());
  for (const DraftSlot& slot : batch) {
    states.push_back(&StateOf(slot));
    states.back()->cache->Commit({});
  }
  CatchUp(states);
  DraftByLevels(
      batch, net_->max_rows(),
      [&](size_t slot) { return kRoomForDrafts - states[slot]->cache->provisional(); },
      [](const DraftLevel& level) { return static_cast<int>(level.nodes.size()); },
      [&](std::span<const DraftLevel> levels) { Expand(batch, levels); });
}

void Eagle::Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  const Tensor outputs = levels[0].nodes[0] == 0 ? Roots(batch, levels) : OutputsOf(batch, levels);
  const Tensor logits = net_->Logits(outputs);
  row_.resize(static_cast<size_t>(logits.cols));
  int at = 0;
  for (const DraftLevel& level : levels) {
    const DraftSlot& slot = batch[level.slot];
    Sampler sampler(rule_.share_noise || slot.builder.wants_draws() ? slot.sampling
                                                                    : SamplingParams{});
    for (const Node node : level.nodes) {
      net_->backend().Download(logits.Rows(at++, 1), row_.data());
      OfferFromLogits(slot, node, StateOf(slot).text, row_, sampler);
    }
  }
}

// What the last pairs say: no pass is needed for it.
Tensor Eagle::Roots(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  const Tensor roots = net_->Features(static_cast<int>(levels.size()));
  for (size_t l = 0; l < levels.size(); ++l) {
    net_->backend().StoreRows(StateOf(batch[levels[l].slot]).root.tensor,
                              roots.Rows(static_cast<int64_t>(l), 1));
  }
  return roots;
}

// Feeds the levels' nodes, each with the output that its token was read from as its feature.
Tensor Eagle::OutputsOf(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  int rows = 0;
  for (const DraftLevel& level : levels) rows += static_cast<int>(level.nodes.size());
  const Tensor features = net_->Features(rows);
  RowBatch pairs;
  std::vector<KvCache*> caches;
  for (const DraftLevel& level : levels) {
    State& state = StateOf(batch[level.slot]);
    const CandidateTree& tree = batch[level.slot].builder.tree();
    state.row.resize(static_cast<size_t>(tree.size()), kNoNode);
    int next = state.cache->provisional();
    for (const Node node : level.nodes) {
      const Node parent = tree.parent(node);
      const int from = parent == 0 ? kNoNode : state.row[static_cast<size_t>(parent)];
      const Tensor feature = parent == 0 ? state.root.tensor : state.outputs.tensor.Rows(from, 1);
      net_->backend().StoreRows(feature, features.Rows(pairs.rows(), 1));
      AddRow(pairs, tree.token(node), state.committed - 1 + tree.depth(node), from);
      state.row[static_cast<size_t>(node)] = next++;
    }
    pairs.begin.push_back(pairs.rows());
    caches.push_back(state.cache.get());
  }
  const Tensor outputs = net_->Forward(pairs, caches);
  for (size_t l = 0; l < levels.size(); ++l) {
    State& state = StateOf(batch[levels[l].slot]);
    const int count = static_cast<int>(levels[l].nodes.size());
    net_->backend().StoreRows(outputs.Rows(pairs.begin[l], count),
                              state.outputs.tensor.Rows(state.cache->provisional() - count, count));
  }
  return outputs;
}

}  // namespace foretoken
