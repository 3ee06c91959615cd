#include "draft/eagle/eagle.h"

#include "draft/scratch.h"

namespace foretoken {

std::unique_ptr<DraftState> Eagle::NewState() const {
  auto state = std::make_unique<State>();
  Prepare(*state);
  return state;
}

size_t Eagle::StateBytes(const DraftState& state) const {
  return FeatureDrafter::StateBytes(state) + BytesOf(static_cast<const State&>(state).outputs);
}

Status Eagle::Propose(std::span<const DraftSlot> batch) {
  return DraftLevels(batch, [&](std::span<const DraftLevel> levels) -> Status {
    FT_ASSIGN_OR_RETURN(const Tensor outputs, levels[0].nodes[0] == 0
                                                  ? GatherRootOutputs(batch, levels)
                                                  : FeedNodes(batch, levels));
    FT_ASSIGN_OR_RETURN(const Tensor logits, net_->Logits(outputs));
    offers().Offer(PlacesOf(batch, levels), logits, net_->vocabulary());
    return {};
  });
}

// Gathers the stored output of each sequence's last committed row, whose token is the root. This
// output already predicts the root's continuations, so the root needs no pass.
Result<Tensor> Eagle::GatherRootOutputs(std::span<const DraftSlot> batch,
                                        std::span<const DraftLevel> levels) {
  FT_ASSIGN_OR_RETURN(const Tensor roots, net_->Features(static_cast<int>(levels.size())));
  for (size_t l = 0; l < levels.size(); ++l) {
    net_->backend().StoreRows(StateOf(batch[levels[l].slot]).root.tensor,
                              roots.Rows(static_cast<int64_t>(l), 1));
  }
  return roots;
}

// Feeds the levels' nodes to the network and returns their outputs. The feature of a node is the
// output from which its token was predicted.
Result<Tensor> Eagle::FeedNodes(std::span<const DraftSlot> batch,
                                std::span<const DraftLevel> levels) {
  int rows = 0;
  for (const DraftLevel& level : levels) rows += static_cast<int>(level.nodes.size());
  FT_ASSIGN_OR_RETURN(const Tensor features, net_->Features(rows));
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
  FT_ASSIGN_OR_RETURN(const Tensor outputs, net_->Forward(pairs, caches));
  for (size_t l = 0; l < levels.size(); ++l) {
    State& state = StateOf(batch[levels[l].slot]);
    const int count = static_cast<int>(levels[l].nodes.size());
    const int fed = state.cache->provisional();
    FT_RETURN_IF_ERROR(GrowRows(net_->backend(), fed, net_->hidden(), fed - count, state.outputs));
    net_->backend().StoreRows(outputs.Rows(pairs.begin[l], count),
                              state.outputs.tensor.Rows(fed - count, count));
  }
  return outputs;
}

}  // namespace foretoken
