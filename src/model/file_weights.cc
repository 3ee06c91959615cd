#include <array>
#include <cstring>
#include <vector>

#include "io/finite_values.h"
#include "model/weight_source.h"

namespace foretoken {
namespace {

class FileWeights final : public WeightSource {
 public:
  FileWeights(const ModelFile& file, Backend& backend, FileValues values)
      : file_(file), backend_(backend), values_(values) {}

  const std::string& origin() const override { return file_.path(); }

  Result<std::unique_ptr<Weight>> Matrix(const std::string& name, int64_t rows,
                                         int64_t cols) override {
    FT_ASSIGN_OR_RETURN(const TensorSource source, file_.Find(name, std::array{rows, cols}));
    auto loaded = backend_.LoadWeight(source.type, rows, cols, source.bytes.data());
    if (!loaded.ok()) return Fault(name, loaded.error().message);
    if (MustRefuse(loaded->finite)) return Fault(name, kNotFinite);
    if (!loaded->keeps_source) file_.Release(source);
    return std::move(loaded->weight);
  }

  Result<std::unique_ptr<Weight>> PickRows(const std::string& name, int64_t rows, int64_t cols,
                                           std::span<const int32_t> picked,
                                           std::optional<DType> type) override {
    FT_ASSIGN_OR_RETURN(const TensorSource source, file_.Find(name, std::array{rows, cols}));
    const DType to = type.value_or(source.type);
    if (cols % BlockElements(to) != 0) {
      return Fault(name, "rows of " + std::to_string(cols) + " values cannot be " +
                             std::string(DTypeName(to)));
    }
    std::vector<std::byte> bytes = GatherRows(source.bytes.data(), source.type, cols, picked, to);
    file_.Release(source);
    auto loaded = backend_.LoadWeight(to, std::ssize(picked), cols, bytes.data());
    if (!loaded.ok()) return Fault(name, loaded.error().message);
    if (MustRefuse(loaded->finite)) return Fault(name, kNotFinite);
    if (loaded->keeps_source) gathered_.push_back(std::move(bytes));
    return std::move(loaded->weight);
  }

  Result<Buffer> Vector(const std::string& name, int64_t n) override {
    FT_ASSIGN_OR_RETURN(const TensorSource source, file_.Find(name, std::array{n}));
    if (MustRefuse(AllFinite(source.type, source.bytes))) return Fault(name, kNotFinite);
    if (n % BlockElements(source.type) != 0) {
      return Fault(name, "a vector of " + std::to_string(n) + " values cannot be " +
                             std::string(DTypeName(source.type)));
    }
    std::vector<float> values(n);
    Dequantize(source.type, source.bytes.data(), values);
    FT_ASSIGN_OR_RETURN(Buffer buffer, backend_.Allocate(DType::kF32, 1, n));
    backend_.Upload(values.data(), buffer.tensor);
    return buffer;
  }

 private:
  static constexpr const char* kNotFinite =
      "holds a weight that is not finite (NaN or infinity); the file is damaged, or its numbers "
      "overflowed when it was made";

  Error Fault(const std::string& name, const std::string& what) const {
    return Error{file_.path() + ": " + file_.NameInFile(name) + ": " + what};
  }
  bool MustRefuse(bool finite) const { return values_ == FileValues::kFinite && !finite; }

  const ModelFile& file_;
  Backend& backend_;
  FileValues values_;
  std::vector<std::vector<std::byte>> gathered_;  // rows that weights refer to
};

}  // namespace

std::vector<std::byte> GatherRows(const std::byte* data, DType from, int64_t cols,
                                  std::span<const int32_t> picked, DType to) {
  const size_t row_bytes = RowBytes(from, cols), to_bytes = RowBytes(to, cols);
  std::vector<std::byte> bytes(picked.size() * to_bytes);
  std::vector<float> values(from == to ? 0 : static_cast<size_t>(cols));
  std::byte* out = bytes.data();
  for (const int32_t row : picked) {
    const std::byte* in = data + static_cast<size_t>(row) * row_bytes;
    if (from == to) {
      std::memcpy(out, in, row_bytes);
    } else {
      Dequantize(from, in, values);
      Quantize(to, values, out);
    }
    out += to_bytes;
  }
  return bytes;
}

std::unique_ptr<WeightSource> NewFileWeights(const ModelFile& file, Backend& backend,
                                             FileValues values) {
  return std::make_unique<FileWeights>(file, backend, values);
}

}  // namespace foretoken
