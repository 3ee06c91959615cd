// Where a model's weights come from: a model file, or a generator that needs none.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "io/model_file.h"

namespace foretoken {

// Hands out weights by GGUF name. Must outlive the weights: it owns the bytes they may refer to.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // [rows, cols]. Errors: missing, another shape, or a type the backend cannot compute with.
  virtual Result<std::unique_ptr<Weight>> Matrix(const std::string& name, int64_t rows,
                                                 int64_t cols) = 0;
  // [1, n] f32, whatever its type in the file.
  virtual Result<Buffer> Vector(const std::string& name, int64_t n) = 0;
};

// Reads `file`, which must outlive the source, and lets go of its pages as soon as a weight no
// longer needs them.
std::unique_ptr<WeightSource> NewFileWeights(const ModelFile& file, Backend& backend);

// Generates values, the same ones for the same seed and name.
std::unique_ptr<WeightSource> NewRandomWeights(DType type, uint64_t seed, Backend& backend);

}  // namespace foretoken
