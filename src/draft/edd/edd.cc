// EDD: a trained layer that drafts after a soft prompt of the target's own hidden states.
#include "draft/edd/edd.h"

#include "draft/edd/edd_spec.h"
#include "draft/trained.h"

namespace foretoken {

Status Edd::Propose(std::span<const DraftSlot> batch) {
  return DraftLevels(batch, [&](std::span<const DraftLevel> levels) -> Status {
    FT_ASSIGN_OR_RETURN(const Tensor logits, LogitsOf(batch, levels));
    offers().Offer(PlacesOf(batch, levels), logits, net_->vocabulary());
    return {};
  });
}

// Feeds the levels' nodes, the roots included, and returns their logits.
Result<Tensor> Edd::LogitsOf(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels) {
  RowBatch rows;
  std::vector<KvCache*> caches;
  for (const DraftLevel& level : levels) {
    State& state = StateOf(batch[level.slot]);
    const CandidateTree& tree = batch[level.slot].builder.tree();
    for (const Node node : level.nodes) {
      state.AddNode(tree, node, state.committed + tree.depth(node), rows);
    }
    rows.begin.push_back(rows.rows());
    caches.push_back(state.cache.get());
  }
  return net_->Logits(rows, caches);
}

OptionTable DescribeEdd() { return DescribeOptions<CachedDraftOptions>(); }

Result<std::unique_ptr<Drafter>> NewEdd(const DraftContext& context) {
  CachedDraftOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(EddSpec::kMethod, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {EddSpec::kMethod}, options.tokens));
  FT_ASSIGN_OR_RETURN(auto net, EddNet::Load(std::move(file), context.target, options.tokens));
  FT_RETURN_IF_ERROR(CheckCacheType(net->config(), options.cache_type));
  return std::unique_ptr<Drafter>(
      std::make_unique<Edd>(std::move(net), context.capacity, options.cache_type));
}

}  // namespace foretoken
