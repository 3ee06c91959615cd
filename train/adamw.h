// The AdamW optimiser, with gradient clipping by norm and by value.
#pragma once

#include <torch/types.h>

#include <vector>

#include "weights.h"

namespace foretoken::train {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;
  double clip = 1.0;        // largest global gradient norm; 0: no clipping
  double clip_value = 0.0;  // largest magnitude of a gradient element; 0: no clipping
};

class AdamW {
 public:
  // Keeps a reference to `parameters`, which must outlive this.
  AdamW(const std::vector<NamedParameter>& parameters, const AdamWOptions& options);

  // Applies the parameters' gradients as update number `step` (from 1) and clears them. Returns the
  // gradient norm before clipping; if it is not finite, weights and moments do not change.
  double Step(int64_t step, double lr);
  // The global norm of the parameters' gradients, before clipping.
  double GradNorm() const;

  // The first and second moments, in the order of the parameters.
  std::vector<torch::Tensor>& first() { return first_; }
  std::vector<torch::Tensor>& second() { return second_; }

 private:
  const std::vector<NamedParameter>& parameters_;
  AdamWOptions options_;
  std::vector<torch::Tensor> first_, second_;
};

}  // namespace foretoken::train
