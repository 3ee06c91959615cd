// The drafter of EAGLE-1, EAGLE-2 and HASS (H-16 to H-18): a small module predicts the target's
// next feature from the features and tokens so far, and an LM head, usually the target's, turns the
// predicted feature into logits. The methods differ in training and in the tree. EAGLE-3 uses this
// drafter too, with another module (Eagle3Net) that fuses three hidden states of the target into a
// feature and has its own LM head.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/eagle/eagle_module.h"
#include "draft/levels.h"

namespace foretoken {

class Eagle final : public FeatureDrafter {
 public:
  // `taps`: the target's hidden states that features are made of. `capacity`: length in tokens that
  // sequences rarely exceed. REQUIRES: CheckCacheType(the draft's config, cache_type) is ok.
  Eagle(std::unique_ptr<EagleModule> net, const std::vector<int>& taps, int capacity,
        DType cache_type)
      : FeatureDrafter(*net, {.taps = taps}, capacity, cache_type), net_(std::move(net)) {}

  std::unique_ptr<DraftState> NewState() const override;
  Status Propose(std::span<const DraftSlot> batch) override;
  DraftPrior Prior() const override { return net_->Prior(); }
  size_t StateBytes(const DraftState& state) const override;

 private:
  // The cache's provisional rows are nodes of the last draft.
  struct State final : FeatureDrafter::State {
    Buffer outputs;  // [provisional rows or more, hidden] the network's output for each
                     // provisional row
  };

  static State& StateOf(const DraftSlot& slot) { return static_cast<State&>(slot.state); }
  Result<Tensor> FeedNodes(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  Result<Tensor> GatherRootOutputs(std::span<const DraftSlot> batch,
                                   std::span<const DraftLevel> levels);

  std::unique_ptr<EagleModule> net_;
};

}  // namespace foretoken
