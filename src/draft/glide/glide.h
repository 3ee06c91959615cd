// GLIDE (G-15, G-18): drafts with a small language model, trained for the target, that also attends
// to the target's KV cache of the text so far.
#pragma once

#include <memory>
#include <span>

#include "draft/causal_drafter.h"
#include "draft/glide/glide_net.h"

namespace foretoken {

class Glide final : public CausalDrafter {
 public:
  // `capacity`: length in tokens that sequences rarely exceed. REQUIRES:
  // CheckCacheType(net->config(), rule.cache_type) is ok.
  Glide(std::unique_ptr<GlideNet> net, int capacity, const CausalRule& rule);

  TapSpec Needs() const override { return {.kv_layers = net_->kv_layers()}; }
  std::unique_ptr<DraftState> NewState() const override;
  DraftPrior Prior() const override { return net_->Prior(); }

 private:
  struct GlideState final : State {
    Glimpse target;  // views from the last pass, valid until the following Propose (Observation)
  };

  Result<Tensor> Forward(const RowBatch& batch, std::span<State* const> states) override;
  void Learn(State& state, const Observation& seen) override;

  std::unique_ptr<GlideNet> net_;
};

}  // namespace foretoken
