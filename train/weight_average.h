// The exponential moving average (EMA) of a run's weights. If the recipe sets `ema`, the average is
// evaluated and exported in place of the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "weights.h"

namespace foretoken::train {

class WeightAverage {
 public:
  // Keeps a reference to `parameters`, which must outlive this. With a decay of 0 there are no
  // averages.
  WeightAverage(const std::vector<NamedParameter>& parameters, double decay);

  bool on() const { return decay_ > 0.0; }
  // Updates the averages with the weights after step number `step` (from 1). The decay is at most
  // (1 + step) / (10 + step), so that early weights do not dominate the average.
  void Add(int64_t step);
  // Sets the averages to the current parameters.
  void Restart();
  // Exchanges the parameters and the averages.
  void Swap();
  // The averages in the order of the parameters; empty if the decay is 0.
  std::vector<torch::Tensor>& values() { return values_; }

 private:
  const std::vector<NamedParameter>& parameters_;
  double decay_;
  std::vector<torch::Tensor> values_;
};

}  // namespace foretoken::train
