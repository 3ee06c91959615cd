// The weights of a module: f32 master weights under their published names, and copies of the
// matrices in the compute type, which products use.
#pragma once

#include <torch/types.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "io/draft_modules.h"

namespace foretoken::train {

struct NamedParameter {
  std::string name;
  torch::Tensor value;  // f32 leaf
  bool decays;          // weight decay applies (matrices, not vectors)
};

// The matrix of one product: the rows of one or more master weights, concatenated. A frozen matrix
// keeps no masters.
struct Matrix {
  std::vector<torch::Tensor> masters;
  torch::Tensor compute;
};

struct MatrixPart {
  std::string name;
  int64_t rows;
};

// A weight to be initialised. `index`: its number in the set, from 0. `deviation`: the standard
// deviation that the module requests; with 0, matrices begin as zeros and vectors as ones.
struct NewWeight {
  std::string name;
  size_t index;
  std::vector<int64_t> shape;
  double deviation;
};
using Initializer = std::function<torch::Tensor(const NewWeight&)>;

// Returns an initializer that draws normal deviates. They are functions of the seed, the weight's
// index and the element, and do not depend on the thread count.
Initializer NormalWeights(uint64_t seed);

struct WeightOptions {
  torch::ScalarType compute = torch::kFloat32;  // type of activations and products
  torch::Device device = torch::kCPU;
  Initializer initial = NormalWeights(1);
  bool frozen = false;  // not trained: matrices keep no masters
};

class WeightSet {
 public:
  explicit WeightSet(WeightOptions options) : options_(std::move(options)) {}
  WeightSet(const WeightSet&) = delete;
  WeightSet& operator=(const WeightSet&) = delete;

  torch::Tensor Add(const std::string& name, const std::vector<int64_t>& shape, double deviation);
  // Adds the weights `parts`, which form one matrix. The references that this and the following
  // functions return stay valid.
  const Matrix& AddMatrix(const std::vector<MatrixPart>& parts, int64_t columns, double deviation);
  // Add weights with given initial values. REQUIRES: not frozen.
  torch::Tensor AddZeros(const std::string& name, int64_t count);
  const Matrix& AddCopy(const std::string& name, const torch::Tensor& value);
  // Add a tensor of a draft's specification, under its published name.
  torch::Tensor Add(const TensorSpec& tensor, double deviation) {
    return Add(tensor.published, tensor.shape, deviation);
  }
  const Matrix& AddMatrix(const TensorSpec& tensor, double deviation) {
    return AddMatrix({{tensor.published, tensor.rows()}}, tensor.cols(), deviation);
  }
  const Matrix& AddCopy(const TensorSpec& tensor, const torch::Tensor& value) {
    return AddCopy(tensor.published, value);
  }
  torch::Tensor AddZeros(const TensorSpec& tensor) {
    return AddZeros(tensor.published, tensor.rows());
  }
  // Adds a matrix whose master is a weight that was added before (tied embeddings).
  const Matrix& AddShared(const torch::Tensor& master);

  torch::ScalarType compute() const { return options_.compute; }
  torch::Device device() const { return options_.device; }
  // The trained weights, in the order of addition; empty if frozen.
  const std::vector<NamedParameter>& parameters() const { return parameters_; }
  // Updates the copies in the compute type after the masters have changed.
  void Refresh();

 private:
  // Adds `value` to the parameters unless frozen; returns it.
  torch::Tensor AddParameter(const std::string& name, torch::Tensor value);

  WeightOptions options_;
  size_t added_ = 0;
  std::vector<NamedParameter> parameters_;
  std::deque<Matrix> matrices_;
};

}  // namespace foretoken::train
