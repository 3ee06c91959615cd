// The exponential moving average of a run's weights (EMA): what is judged and exported in their
// place where a recipe asks for it.
#pragma once

#include <cstdint>
#include <vector>

#include "weights.h"

namespace foretoken::train {

class WeightAverage {
 public:
  // Keeps references to the parameters' tensors. A decay of 0 keeps no average.
  WeightAverage(const std::vector<NamedParameter>& parameters, double decay);

  bool on() const { return decay_ > 0.0; }
  // Takes in the weights after update number `step` (from 1). The decay rises to its own value over
  // the first steps, (1 + step) / (10 + step), so that the first weights do not linger.
  void Add(int64_t step);
  // Sets the averages to what the parameters are now.
  void Restart();
  // The parameters become the averages, and the averages what the parameters were.
  void Swap();
  // In the order of the parameters; empty where there is none.
  std::vector<torch::Tensor>& values() { return values_; }

 private:
  const std::vector<NamedParameter>& parameters_;
  double decay_;
  std::vector<torch::Tensor> values_;
};

}  // namespace foretoken::train
