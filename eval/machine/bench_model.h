// The model that a measurement runs on: from a file, or with random weights.
#pragma once

#include <memory>

#include "eval/machine/bench.h"
#include "io/model_file.h"
#include "model/model.h"

namespace foretoken {

inline constexpr int kBenchRows = 512;  // maximum number of rows of a pass

struct BenchModel {
  std::unique_ptr<ModelFile> file;  // null for random weights
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  double load_seconds = 0;
};
// Loads options.model, or makes a model of the shape options.random with random weights of `type`
// if no file is given. Errors: an unreadable file, an unknown shape.
Result<BenchModel> LoadBenchModel(const BenchOptions& options, DType type);

}  // namespace foretoken
