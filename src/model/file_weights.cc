#include <array>
#include <vector>

#include "model/weight_source.h"

namespace foretoken {
namespace {

class FileWeights final : public WeightSource {
 public:
  FileWeights(const ModelFile& file, Backend& backend) : file_(file), backend_(backend) {}

  Result<std::unique_ptr<Weight>> Matrix(const std::string& name, int64_t rows,
                                         int64_t cols) override {
    const std::array shape{rows, cols};
    FT_ASSIGN_OR_RETURN(const TensorSource source, file_.Find(name, shape));
    auto loaded = backend_.LoadWeight(source.type, rows, cols, source.bytes.data());
    if (!loaded.ok()) return Error{file_.path() + ": " + name + ": " + loaded.error().message};
    if (!loaded->keeps_source) file_.Release(source);
    return std::move(loaded->weight);
  }

  Result<Buffer> Vector(const std::string& name, int64_t n) override {
    FT_ASSIGN_OR_RETURN(const TensorSource source, file_.Find(name, std::array{n}));
    if (n % BlockElements(source.type) != 0) {
      return Error{file_.path() + ": " + name + ": a vector of " + std::to_string(n) +
                   " values cannot be " + std::string(DTypeName(source.type))};
    }
    std::vector<float> values(n);
    Dequantize(source.type, source.bytes.data(), values);
    FT_ASSIGN_OR_RETURN(Buffer buffer, backend_.Allocate(DType::kF32, 1, n));
    backend_.Upload(values.data(), buffer.tensor);
    return buffer;
  }

 private:
  const ModelFile& file_;
  Backend& backend_;
};

}  // namespace

std::unique_ptr<WeightSource> NewFileWeights(const ModelFile& file, Backend& backend) {
  return std::make_unique<FileWeights>(file, backend);
}

}  // namespace foretoken
