#include "draft/eagle/eagle.h"

namespace foretoken {

std::unique_ptr<DraftState> Eagle::NewState() const {
  auto state = std::make_unique<State>();
  Prepare(*state);
  state->outputs = net_->backend().Allocate(DType::kF32, kRoomForDrafts, net_->hidden());
  return state;
}

void Eagle::Propose(std::span<const DraftSlot> batch) {
  DraftLevels(batch, [&](std::span<const DraftLevel> levels) {
    const Tensor outputs =
        levels[0].nodes[0] == 0 ? Roots(batch, levels) : OutputsOf(batch, levels);
    offers().Offer(PlacesOf(batch, levels), net_->Logits(outputs), net_->vocabulary());
  });
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
    for (const Node node : level.nodes) {
      const Tensor to = features.Rows(pairs.rows(), 1);
      const int from = state.AddNode(tree, node, state.committed - 1 + tree.depth(node), pairs);
      net_->backend().StoreRows(
          from == kNoNode ? state.root.tensor : state.outputs.tensor.Rows(from, 1), to);
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
