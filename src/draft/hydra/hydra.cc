// Hydra++: as in Medusa, each head predicts one token further ahead than the head before. A head
// also reads the guesses before its own and a state of the whole text.
#include "draft/hydra/hydra_net.h"
#include "draft/hydra/hydra_spec.h"
#include "draft/levels.h"
#include "draft/trained.h"

namespace foretoken {
namespace {

class Hydra final : public FeatureDrafter {
 public:
  Hydra(std::unique_ptr<HydraNet> net, int layers, int capacity, DType cache_type)
      : FeatureDrafter(*net, {.taps = HydraSpec::Taps(layers)}, capacity, cache_type),
        net_(std::move(net)) {}

  DraftPrior Prior() const override { return net_->Prior(); }

  Status Propose(std::span<const DraftSlot> batch) override {
    return DraftLevels(batch, [&](std::span<const DraftLevel> levels) -> Status {
      for (int head = 0; head < net_->heads(); ++head) {
        FT_RETURN_IF_ERROR(Expand(batch, levels, head));
      }
      return {};
    });
  }

 private:
  // Offers continuations of the levels' nodes at depth `head`.
  Status Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels, int head) {
    std::vector<LogitsPlace> rows;
    for (const DraftLevel& level : levels) {
      const DraftSlot& slot = batch[level.slot];
      for (const Node node : level.nodes) {
        if (slot.builder.tree().depth(node) == head)
          rows.push_back({&slot, node, std::ssize(rows)});
      }
    }
    if (rows.empty()) return {};
    FT_ASSIGN_OR_RETURN(const Tensor logits, Run(rows, head));
    offers().Offer(rows, logits, net_->vocabulary());
    return {};
  }

  Result<Tensor> Run(std::span<const LogitsPlace> rows, int head) {
    FT_ASSIGN_OR_RETURN(const Tensor input, net_->Input(head, static_cast<int>(rows.size())));
    std::vector<std::vector<Token>> tokens(static_cast<size_t>(head) + 1,
                                           std::vector<Token>(rows.size()));
    for (const auto& [slot, node, row] : rows) {
      const CandidateTree& tree = slot->builder.tree();
      for (Node n = node; n != kNoNode; n = tree.parent(n)) {
        tokens[static_cast<size_t>(tree.depth(n))][static_cast<size_t>(row)] = tree.token(n);
      }
      net_->backend().StoreRows(StateOf(*slot).root.tensor,
                                input.Rows(row, 1).Cols(0, net_->hidden()));
    }
    return net_->Logits(head, tokens);
  }

  std::unique_ptr<HydraNet> net_;
};

}  // namespace

OptionTable DescribeHydra() { return DescribeOptions<CachedDraftOptions>(); }

Result<std::unique_ptr<Drafter>> NewHydra(const DraftContext& context) {
  CachedDraftOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(HydraSpec::kMethod, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {HydraSpec::kMethod}, options.tokens));
  FT_ASSIGN_OR_RETURN(auto net, HydraNet::Load(std::move(file), context.target, options.tokens));
  FT_RETURN_IF_ERROR(CheckCacheType(net->config(), options.cache_type));
  return std::unique_ptr<Drafter>(std::make_unique<Hydra>(
      std::move(net), context.target.config().layers, context.capacity, options.cache_type));
}

}  // namespace foretoken
