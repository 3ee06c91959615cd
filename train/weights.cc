#include "weights.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace foretoken::train {

using torch::Tensor;

Initializer NormalWeights(uint64_t seed) {
  return [seed](const NewWeight& weight) {
    if (weight.deviation == 0.0) {
      return weight.shape.size() > 1 ? torch::zeros(weight.shape) : torch::ones(weight.shape);
    }
    Tensor value = torch::empty(weight.shape);
    float* data = value.data_ptr<float>();
    at::parallel_for(0, value.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double radius = std::sqrt(-2.0 * std::log(Uniform(seed, weight.index, 2 * i)));
        const double angle = 2.0 * std::numbers::pi * Uniform(seed, weight.index, 2 * i + 1);
        data[i] = static_cast<float>(weight.deviation * radius * std::cos(angle));
      }
    });
    return value;
  };
}

Tensor WeightSet::Add(const std::string& name, const std::vector<int64_t>& shape,
                      double deviation) {
  return AddParameter(name,
                      options_.initial({name, added_++, shape, deviation}).to(options_.device));
}

Tensor WeightSet::AddParameter(const std::string& name, Tensor value) {
  if (options_.frozen) return value;
  value.requires_grad_();
  parameters_.push_back({name, value, value.dim() > 1});
  return value;
}

Tensor WeightSet::AddZeros(const std::string& name, int64_t count) {
  TORCH_CHECK(!options_.frozen, name, " cannot be frozen");
  return AddParameter(name, torch::zeros({count}, options_.device));
}

const Matrix& WeightSet::AddCopy(const std::string& name, const Tensor& value) {
  torch::NoGradGuard no_grad;
  TORCH_CHECK(!options_.frozen, name, " cannot be frozen");
  const auto master =
      value.to(torch::TensorOptions(options_.device).dtype(torch::kFloat32), false, true);
  return AddShared(AddParameter(name, master));
}

const Matrix& WeightSet::AddMatrix(const std::vector<MatrixPart>& parts, int64_t columns,
                                   double deviation) {
  torch::NoGradGuard no_grad;
  Matrix matrix;
  for (const MatrixPart& part : parts) {
    matrix.masters.push_back(Add(part.name, {part.rows, columns}, deviation));
  }
  matrix.compute = torch::cat(matrix.masters).to(options_.compute);
  if (options_.frozen) matrix.masters.clear();
  return matrices_.emplace_back(std::move(matrix));
}

const Matrix& WeightSet::AddShared(const Tensor& master) {
  torch::NoGradGuard no_grad;
  Matrix matrix{{master}, master.detach().to(options_.compute, false, true)};
  if (options_.frozen) matrix.masters.clear();
  return matrices_.emplace_back(std::move(matrix));
}

void WeightSet::Refresh() {
  torch::NoGradGuard no_grad;
  for (Matrix& matrix : matrices_) {
    int64_t first = 0;
    for (const Tensor& master : matrix.masters) {
      matrix.compute.narrow(0, first, master.size(0)).copy_(master);
      first += master.size(0);
    }
  }
}

}  // namespace foretoken::train
