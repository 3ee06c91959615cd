#include "weight_average.h"

#include <algorithm>

namespace foretoken::train {

using torch::Tensor;

WeightAverage::WeightAverage(const std::vector<NamedParameter>& parameters, double decay)
    : parameters_(parameters), decay_(decay) {
  if (!on()) return;
  for (const NamedParameter& p : parameters) values_.push_back(p.value.detach().clone());
}

void WeightAverage::Add(int64_t step) {
  const torch::NoGradGuard no_grad;
  const auto steps = static_cast<double>(step);
  const double decay = std::min(decay_, (1.0 + steps) / (10.0 + steps));
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].mul_(decay).add_(parameters_[i].value, 1.0 - decay);
  }
}

void WeightAverage::Restart() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i) values_[i].copy_(parameters_[i].value);
}

void WeightAverage::Swap() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < values_.size(); ++i) {
    Tensor value = parameters_[i].value;
    const Tensor live = value.clone();
    value.copy_(values_[i]);
    values_[i].copy_(live);
  }
}

}  // namespace foretoken::train
