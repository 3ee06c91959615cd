// The optimisers AdamW and Muon, with gradient clipping by norm and by value.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

#include "train_kernels.h"
#include "weights.h"

namespace foretoken::train {

struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight_decay = 0.1;  // AdamW's
  double clip = 1.0;        // largest global gradient norm; 0: no clipping
  double clip_value = 0.0;  // largest magnitude of a gradient element; 0: no clipping
  // Muon learns the matrices, but not those with `vocab` rows (embeddings and LM heads), which
  // AdamW learns like all other weights.
  bool muon = false;
  int64_t vocab = 0;
  torch::ScalarType compute = torch::kFloat32;  // type of Muon's products
};

// Returns a matrix near U V^T, where U S V^T is the singular value decomposition of `matrix`
// [rows, columns]: its singular values lie between about 0.7 and 1.2, those near 0 excepted. Five
// steps of a Newton-Schulz iteration (Jordan et al., Muon, 2024) in the type `compute`.
torch::Tensor Orthogonalized(const torch::Tensor& matrix, torch::ScalarType compute);

class Optimizer {
 public:
  // Keeps a reference to `parameters`, which must outlive this.
  Optimizer(const std::vector<NamedParameter>& parameters, const OptimizerOptions& options);

  // Applies the parameters' gradients as update number `step` (from 1) and clears them. Returns the
  // gradient norm before clipping; if it is not finite, weights and moments do not change.
  double Step(int64_t step, double lr);
  // The global norm of the parameters' gradients, before clipping.
  double GradNorm() const;

  // The first and second moments, in the order of the parameters. The second moment of a weight
  // that Muon learns is undefined.
  std::vector<torch::Tensor>& first() { return first_; }
  std::vector<torch::Tensor>& second() { return second_; }

 private:
  void Update(const AdamWStep& step, const torch::Tensor& grad, size_t index);

  const std::vector<NamedParameter>& parameters_;
  OptimizerOptions options_;
  std::vector<torch::Tensor> first_, second_;
};

}  // namespace foretoken::train
