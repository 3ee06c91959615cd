// Medusa: heads that read only the target's last feature, and each predict one token further ahead
// than the head before. A head's prediction is the same for all nodes at its depth, whatever
// precedes them.
#include <algorithm>

#include "draft/levels.h"
#include "draft/medusa/medusa_net.h"
#include "draft/medusa/medusa_spec.h"
#include "draft/scratch.h"
#include "draft/text_state.h"
#include "draft/trained.h"

namespace foretoken {
namespace {

class Medusa final : public Drafter {
 public:
  Medusa(std::unique_ptr<MedusaNet> net, const ModelConfig& target)
      : net_(std::move(net)), hidden_(target.hidden), offers_(net_->backend()) {}

  TapSpec Needs() const override { return {.head_input = true}; }
  DraftPrior Prior() const override { return net_->Prior(); }

  std::unique_ptr<DraftState> NewState() const override { return std::make_unique<State>(); }

  Status Observe(std::span<const Observation> seen) override {
    for (const Observation& o : seen) {
      auto& state = static_cast<State&>(o.state);
      state.Append(o);
      const Tensor features = o.taps.HeadInput();
      if (features.rows == 0) continue;  // more of the prompt follows
      // For a prompt, only the last token has a row.
      const int64_t row = o.prompt ? features.rows - 1 : o.path.back();
      FT_ASSIGN_OR_RETURN(const Tensor kept,
                          ReserveRows(net_->backend(), 1, hidden_, state.feature));
      net_->backend().StoreRows(features.Rows(row, 1), kept);
    }
    return {};
  }

  Status Propose(std::span<const DraftSlot> batch) override {
    FT_ASSIGN_OR_RETURN(const Buffer features,
                        net_->backend().Allocate(DType::kF32, std::ssize(batch), hidden_));
    for (size_t s = 0; s < batch.size(); ++s) {
      net_->backend().StoreRows(static_cast<State&>(batch[s].state).feature.tensor,
                                features.tensor.Rows(static_cast<int64_t>(s), 1));
    }
    Guesses guesses{features.tensor, {}};
    // The number of rows is not limited: a head's pass has one row per slot, not per node.
    return DraftByLevels(
        batch, 1 << 20, [](size_t) { return true; }, [](const DraftLevel&) { return 1; },
        [&](std::span<const DraftLevel> levels) { return Expand(batch, levels, guesses); });
  }

  void Truncate(DraftState& state, int length) override {
    static_cast<State&>(state).Truncate(length);
  }

  // The feature is not copied: the Observe that follows a fork brings the last token's feature.
  Result<std::unique_ptr<DraftState>> Fork(const DraftState& state, int length) const override {
    auto fork = std::make_unique<State>();
    fork->CopyText(static_cast<const State&>(state), length);
    return std::unique_ptr<DraftState>(std::move(fork));
  }

  size_t StateBytes(const DraftState& draft_state) const override {
    const auto& state = static_cast<const State&>(draft_state);
    return state.TextBytes() + BytesOf(state.feature);
  }

 private:
  struct State final : TextState {
    Buffer feature;  // [1, hidden] of the last committed token, which predicted the root
  };
  // The heads' logits of one Propose.
  struct Guesses {
    Tensor features;            // [slots, hidden]
    std::vector<Buffer> heads;  // for each head computed so far: [slots, tokens scored]
  };

  // The logits of head `head`; computes it and the heads before it if they are missing.
  Result<Tensor> Logits(Guesses& guesses, int head) {
    while (std::ssize(guesses.heads) <= head) {
      const int next = static_cast<int>(guesses.heads.size());
      FT_ASSIGN_OR_RETURN(const Tensor logits, net_->Logits(next, guesses.features));
      FT_ASSIGN_OR_RETURN(Buffer kept,
                          net_->backend().Allocate(DType::kF32, logits.rows, logits.cols));
      net_->backend().StoreRows(logits, kept.tensor);
      guesses.heads.push_back(std::move(kept));
    }
    return guesses.heads[static_cast<size_t>(head)].tensor;
  }

  Status Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels,
                Guesses& guesses) {
    std::vector<std::vector<LogitsPlace>> places(static_cast<size_t>(net_->heads()));  // by head
    for (const DraftLevel& level : levels) {
      const DraftSlot& slot = batch[level.slot];
      for (const Node node : level.nodes) {
        const int head = slot.builder.tree().depth(node);
        if (head >= net_->heads()) continue;
        places[static_cast<size_t>(head)].push_back(
            {&slot, node, static_cast<int64_t>(level.slot)});
      }
    }
    for (int head = 0; head < net_->heads(); ++head) {
      const std::vector<LogitsPlace>& head_places = places[static_cast<size_t>(head)];
      if (head_places.empty()) continue;
      FT_ASSIGN_OR_RETURN(const Tensor logits, Logits(guesses, head));
      offers_.Offer(head_places, logits, net_->vocabulary());
    }
    return {};
  }

  std::unique_ptr<MedusaNet> net_;
  int hidden_;
  LogitsOffers offers_;
};

struct MedusaOptions {
  DraftTokenRule tokens;
  TrainedOptions file;
  void Visit(OptionFields& fields) {
    tokens.Visit(fields);
    file.Visit(fields);
  }
};

}  // namespace

OptionTable DescribeMedusa() { return DescribeOptions<MedusaOptions>(); }

Result<std::unique_ptr<Drafter>> NewMedusa(const DraftContext& context) {
  MedusaOptions options;
  FT_RETURN_IF_ERROR(ReadOptions(MedusaSpec::kMethod, context.options, options));
  FT_ASSIGN_OR_RETURN(auto file,
                      OpenTrained(options.file, context, {MedusaSpec::kMethod}, options.tokens));
  FT_ASSIGN_OR_RETURN(auto net, MedusaNet::Load(std::move(file), context.target, options.tokens));
  return std::unique_ptr<Drafter>(
      std::make_unique<Medusa>(std::move(net), context.target.config()));
}

}  // namespace foretoken
