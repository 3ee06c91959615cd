#include "medusa/module.h"

#include "draft/medusa/medusa_spec.h"

namespace foretoken::train {

using torch::Tensor;

MedusaModule::MedusaModule(const FrozenTarget& target, int64_t heads, bool shared_output,
                           WeightOptions options)
    : weights_(std::move(options)) {
  const MedusaSpec spec{target.shape().hidden, target.shape().vocab};
  for (int k = 0; k < heads; ++k) {
    Head head{};
    // Zeros, so that a head starts as the identity.
    head.linear = &weights_.AddMatrix(spec.BlockWeight(k, 0), /*deviation=*/0.0);
    head.bias = weights_.AddZeros(spec.BlockBias(k, 0));
    head.output_matrix =
        shared_output ? &target.head_matrix()
                      : &weights_.AddCopy(spec.Output(k, kBlocks), target.head_matrix().compute);
    heads_.push_back(std::move(head));
  }
}

Tensor MedusaModule::States(int64_t head, const Tensor& features) const {
  const Tensor inner =
      Linear(features, *HeadAt(head).linear).to(torch::kFloat32) + HeadAt(head).bias;
  return features + torch::silu(inner).to(features.scalar_type());
}

}  // namespace foretoken::train
