// Sources of a model's weights: a model file, or a generator of random values.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "io/model_file.h"

namespace foretoken {

// Provides weights by GGUF name. Must outlive the weights, because it owns bytes that they may
// refer to.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The file's path, or "random model".
  virtual const std::string& origin() const = 0;
  // Loads a weight [rows, cols]. Errors: the weight is missing, has another shape, or has a type
  // that the backend cannot compute with.
  virtual Result<std::unique_ptr<Weight>> Matrix(const std::string& name, int64_t rows,
                                                 int64_t cols) = 0;
  // Loads rows `picked` of a matrix [rows, cols], in that order, as [picked.size(), cols]: in the
  // matrix's own type, or requantised to `type`. Errors: those of Matrix; `cols` is not a multiple
  // of the type's block. REQUIRES: 0 <= picked[i] < rows; not empty.
  virtual Result<std::unique_ptr<Weight>> PickRows(const std::string& name, int64_t rows,
                                                   int64_t cols, std::span<const int32_t> picked,
                                                   std::optional<DType> type) = 0;
  // Loads a vector of any type as [1, n] f32. Errors: it is missing or has another size.
  virtual Result<Buffer> Vector(const std::string& name, int64_t n) = 0;
};

// Copies rows `picked` of a matrix and converts them from type `from` to type `to`. `data` holds
// all rows of the matrix, of `cols` values each. REQUIRES: cols is a multiple of both types'
// blocks.
std::vector<std::byte> GatherRows(const std::byte* data, DType from, int64_t cols,
                                  std::span<const int32_t> picked, DType to);

// Whether a file may hold NaN or infinities. With them, a draft only guesses badly, but a model
// generates garbage.
enum class FileValues : uint8_t { kAny, kFinite };

// Reads `file`, which must outlive the source, and releases its pages as soon as a weight no longer
// needs them. With kFinite, a NaN or an infinity among the values or scales of a tensor is an error
// that names the tensor.
std::unique_ptr<WeightSource> NewFileWeights(const ModelFile& file, Backend& backend,
                                             FileValues values = FileValues::kAny);

// Generates random values, the same ones for the same seed and name.
std::unique_ptr<WeightSource> NewRandomWeights(DType type, uint64_t seed, Backend& backend);

}  // namespace foretoken
