// EDD: the target's own hidden states are the soft prompt of a layer that guesses on from there.
#include "draft/edd/edd.h"

#include "draft/trained.h"

namespace foretoken {

std::unique_ptr<DraftState> Edd::NewState() const {
  auto state = std::make_unique<State>();
  Prepare(*state);
  return state;
}

void Edd::Propose(std::span<const DraftSlot> batch) {
  Forget(batch);
  DraftByLevels(
      batch, net_->max_rows(),
      [&](size_t slot) { return kRoomForDrafts - StateOf(batch[slot]).cache->provisional(); },
      [](const DraftLevel& level) { return static_cast<int>(level.nodes.size()); },
      [&](std::span<const DraftLevel> levels) {
        CatchUp(batch, levels);
        OfferLevels(batch, levels, Run(batch, levels), share_noise_);
      },
      [batch](size_t slot) { return Unread(batch[slot]); });
}

// Feeds the levels' nodes, the roots included; returns their logits.
Tensor Edd::Run(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  RowBatch rows;
  std::vector<KvCache*> caches;
  for (const DraftLevel& level : levels) {
    State& state = StateOf(batch[level.slot]);
    const CandidateTree& tree = batch[level.slot].builder.tree();
    state.row.resize(static_cast<size_t>(tree.size()), kNoNode);
    int next = state.cache->provisional();
    for (const Node node : level.nodes) {
      const Node parent = node == 0 ? kNoNode : state.row[static_cast<size_t>(tree.parent(node))];
      AddRow(rows, tree.token(node), state.committed + tree.depth(node), parent);
      state.row[static_cast<size_t>(node)] = next++;
    }
    rows.begin.push_back(rows.rows());
    caches.push_back(state.cache.get());
  }
  return net_->Logits(rows, caches);
}

Result<std::unique_ptr<Drafter>> NewEdd(const DraftContext& context) {
  DraftOptions options("edd", context.options);
  const DType cache_type = CacheTypeOption(options);
  const bool share_noise = NoiseOption(options);
  FT_ASSIGN_OR_RETURN(auto file, OpenTrained(options, context, {"edd"}));
  FT_ASSIGN_OR_RETURN(auto net, EddNet::Load(std::move(file), context.target));
  FT_RETURN_IF_ERROR(CheckCacheType(net->config(), cache_type));
  return std::unique_ptr<Drafter>(
      std::make_unique<Edd>(std::move(net), context.capacity, cache_type, share_noise));
}

}  // namespace foretoken
