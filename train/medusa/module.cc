#include "medusa/module.h"

namespace foretoken::train {

using torch::Tensor;

MedusaModule::MedusaModule(const FrozenTarget& target, int64_t heads, bool shared_output,
                           WeightOptions options)
    : weights_(std::move(options)) {
  const int64_t width = target.shape().hidden;
  for (int64_t k = 0; k < heads; ++k) {
    const std::string at = std::to_string(k) + ".";
    Head head{};
    head.linear = &weights_.AddMatrix({{at + "0.linear.weight", width}}, width, 0.0);
    head.bias = weights_.AddZeros(at + "0.linear.bias", width);
    head.scores = shared_output ? &target.head_matrix()
                                : &weights_.AddCopy(at + "1.weight", target.head_matrix().compute);
    heads_.push_back(std::move(head));
  }
}

Tensor MedusaModule::States(int64_t head, const Tensor& features) const {
  const Tensor inner = Linear(features, *Of(head).linear).to(torch::kFloat32) + Of(head).bias;
  return features + torch::silu(inner).to(features.scalar_type());
}

}  // namespace foretoken::train
