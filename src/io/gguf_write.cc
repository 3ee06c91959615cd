#include <algorithm>
#include <new>
#include <string_view>
#include <unordered_set>

#include "base/check.h"
#include "base/output_file.h"
#include "io/gguf.h"

namespace foretoken {
namespace {

constexpr size_t kAlignment = 32;
enum : uint32_t {
  kU16 = 2,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10
};

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(std::string& out, const std::string& text) {
  Append<uint64_t>(out, text.size());
  out += text;
}

template <typename T>
std::string Scalar(uint32_t type, T value) {
  std::string out;
  Append(out, type);
  Append(out, value);
  return out;
}

std::string ArrayHead(uint32_t type, size_t count) {
  std::string out;
  Append<uint32_t>(out, kArray);
  Append(out, type);
  Append<uint64_t>(out, count);
  return out;
}

size_t Padding(size_t size) { return (kAlignment - size % kAlignment) % kAlignment; }

size_t TensorSize(DType type, const std::vector<int64_t>& shape) {
  FT_CHECK(!shape.empty());
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return RowBytes(type, shape.back()) * static_cast<size_t>(rows);
}

void Set(std::vector<std::pair<std::string, std::string>>& metadata, std::string key,
         std::string value) {
  for (auto& [known, old] : metadata) {
    if (known != key) continue;
    old = std::move(value);
    return;
  }
  metadata.emplace_back(std::move(key), std::move(value));
}

}  // namespace

void GgufWriter::SetBool(std::string key, bool value) {
  Set(metadata_, std::move(key), Scalar<uint8_t>(kBool, value ? 1 : 0));
}

void GgufWriter::SetU32(std::string key, uint32_t value) {
  Set(metadata_, std::move(key), Scalar(kU32, value));
}

void GgufWriter::SetI32(std::string key, int32_t value) {
  Set(metadata_, std::move(key), Scalar(kI32, value));
}

void GgufWriter::SetU64(std::string key, uint64_t value) {
  Set(metadata_, std::move(key), Scalar(kU64, value));
}

void GgufWriter::SetF32(std::string key, float value) {
  Set(metadata_, std::move(key), Scalar(kF32, value));
}

void GgufWriter::SetString(std::string key, const std::string& value) {
  std::string encoded;
  Append<uint32_t>(encoded, kString);
  AppendText(encoded, value);
  Set(metadata_, std::move(key), std::move(encoded));
}

void GgufWriter::SetStrings(std::string key, const std::vector<std::string>& values) {
  std::string encoded = ArrayHead(kString, values.size());
  for (const std::string& value : values) AppendText(encoded, value);
  Set(metadata_, std::move(key), std::move(encoded));
}

void GgufWriter::SetU16s(std::string key, const std::vector<uint16_t>& values) {
  std::string encoded = ArrayHead(kU16, values.size());
  for (const uint16_t value : values) Append(encoded, value);
  Set(metadata_, std::move(key), std::move(encoded));
}

void GgufWriter::SetI32s(std::string key, const std::vector<int32_t>& values) {
  std::string encoded = ArrayHead(kI32, values.size());
  for (const int32_t value : values) Append(encoded, value);
  Set(metadata_, std::move(key), std::move(encoded));
}

void GgufWriter::SetF32s(std::string key, const std::vector<float>& values) {
  std::string encoded = ArrayHead(kF32, values.size());
  for (const float value : values) Append(encoded, value);
  Set(metadata_, std::move(key), std::move(encoded));
}

void GgufWriter::SetEncoded(std::string key, std::span<const std::byte> encoded) {
  Set(metadata_, std::move(key),
      std::string(reinterpret_cast<const char*>(encoded.data()), encoded.size()));
}

void GgufWriter::AddTensor(std::string name, DType type, std::vector<int64_t> shape, Fill fill) {
  pending_.push_back({std::move(name), type, std::move(shape), std::move(fill)});
}

size_t GgufWriter::data_bytes() const {
  size_t total = 0;
  for (const Pending& tensor : pending_) total += TensorSize(tensor.type, tensor.shape);
  return total;
}

std::string GgufWriter::Head() const {
  std::string head = "GGUF";
  Append<uint32_t>(head, 3);
  Append<uint64_t>(head, pending_.size());
  Append<uint64_t>(head, metadata_.size());
  for (const auto& [key, value] : metadata_) {
    AppendText(head, key);
    head += value;
  }
  std::unordered_set<std::string> names;
  size_t offset = 0;
  for (const Pending& tensor : pending_) {
    FT_CHECK(names.insert(tensor.name).second);
    AppendText(head, tensor.name);
    Append<uint32_t>(head, static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) {
      Append<uint64_t>(head, static_cast<uint64_t>(*size));
    }
    Append<uint32_t>(head, static_cast<uint32_t>(tensor.type));
    Append<uint64_t>(head, offset);
    const size_t size = TensorSize(tensor.type, tensor.shape);
    offset += size + Padding(size);
  }
  if (!pending_.empty()) head.append(Padding(head.size()), '\0');
  return head;
}

Status GgufWriter::Write(const std::string& path, const std::function<void(size_t)>& written) {
  size_t most = 0;
  for (const Pending& tensor : pending_) {
    const size_t size = TensorSize(tensor.type, tensor.shape);
    most = std::max(most, size + Padding(size));
  }
  const std::unique_ptr<std::byte[]> buffer(new (std::nothrow) std::byte[most]);
  if (buffer == nullptr) {
    return Error{path + ": out of memory: no " + std::to_string((most >> 20) + 1) +
                 " MiB for the largest tensor"};
  }
  FT_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Open(path));
  FT_RETURN_IF_ERROR(file.Write(Head()));
  size_t done = 0;
  for (const Pending& tensor : pending_) {
    const size_t size = TensorSize(tensor.type, tensor.shape);
    const size_t padded = size + Padding(size);
    std::fill_n(buffer.get(), padded, std::byte{0});
    tensor.fill({buffer.get(), size});
    FT_RETURN_IF_ERROR(
        file.Write(std::string_view(reinterpret_cast<const char*>(buffer.get()), padded)));
    done += size;
    if (written) written(done);
  }
  return file.Commit();
}

}  // namespace foretoken
