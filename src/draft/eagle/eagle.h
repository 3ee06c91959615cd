// EAGLE-1, EAGLE-2 and HASS (methods.md 5): a small module guesses the target's next feature from
// the features and tokens so far, and the target's LM head says which token that is. They differ in
// training and in the tree.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/eagle/eagle_net.h"
#include "draft/levels.h"
#include "draft/text_state.h"

namespace foretoken {

struct EagleRule {
  DType cache_type = DType::kF16;
  bool share_noise = true;  // rank by what the target would draw; false: by probability alone
};

class Eagle final : public Drafter {
 public:
  // `layers`: the target's. `capacity`: longest sequence. REQUIRES: CheckCacheType(net's config,
  // rule.cache_type).
  Eagle(std::unique_ptr<EagleNet> net, int layers, int capacity, const EagleRule& rule)
      : net_(std::move(net)), layers_(layers), capacity_(capacity), rule_(rule) {}

  TapSpec Needs() const override { return {.hidden = {layers_}}; }
  std::unique_ptr<DraftState> NewState() const override;
  void Observe(std::span<const Observation> seen) override;
  void Propose(std::span<const DraftSlot> batch) override;
  void Truncate(DraftState& state, int length) override;

 private:
  // The cache's committed rows are pairs of true features and nothing else; its provisional rows
  // are nodes of the last draft. Pair i needs token i + 1, so a text that is cut to n tokens keeps
  // n features but n - 1 pairs.
  struct State final : TextState {
    std::unique_ptr<KvCache> cache;
    Buffer features;       // [capacity, hidden] the target's, of the committed tokens
    Buffer root;           // [1, hidden] output of the last pair: what follows the root
    Buffer outputs;        // [kRoomForDrafts, hidden] of the provisional rows
    std::vector<int> row;  // [builder's nodes, or fewer] the provisional row of a node
    int pairs() const { return cache->length(); }
  };

  State& StateOf(const DraftSlot& slot) const { return static_cast<State&>(slot.state); }
  void CatchUp(std::span<State* const> states);
  void Expand(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  Tensor OutputsOf(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);
  Tensor Roots(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);

  std::unique_ptr<EagleNet> net_;
  int layers_;
  int capacity_;
  EagleRule rule_;
  std::vector<float> row_;  // scratch: one row of logits
};

}  // namespace foretoken
