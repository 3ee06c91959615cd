// The drafter of EDD and VDM (E-17, E-18). Its network attends to cached keys and values of the
// soft prompt: one of the target's hidden states for each token. Every target pass extends the soft
// prompt by its committed rows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/edd/edd_net.h"
#include "draft/levels.h"

namespace foretoken {

class Edd final : public FeatureDrafter {
 public:
  // `capacity`: length in tokens that sequences rarely exceed. REQUIRES:
  // CheckCacheType(net->config(), cache_type) is ok.
  Edd(std::unique_ptr<EddNet> net, int capacity, DType cache_type)
      : FeatureDrafter(*net, {.taps = net->taps(), .ahead = 0}, capacity, cache_type),
        net_(std::move(net)) {}

  Status Propose(std::span<const DraftSlot> batch) override;
  DraftPrior Prior() const override { return net_->Prior(); }

 private:
  Result<Tensor> LogitsOf(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);

  std::unique_ptr<EddNet> net_;
};

}  // namespace foretoken
