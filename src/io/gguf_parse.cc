// GGUF parser. No allocation is sized by a count that the rest of the file could not hold.
#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "base/foreign_content.h"
#include "base/legible.h"
#include "base/utf8.h"
#include "io/gguf.h"
#include "io/tensor_layout.h"

namespace foretoken {
namespace {

// GGUF's numbers for the types of metadata values.
enum class ValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64
};

size_t ScalarBytes(ValueType type) {
  switch (type) {
    case ValueType::kU8:
    case ValueType::kI8:
    case ValueType::kBool:
      return 1;
    case ValueType::kU16:
    case ValueType::kI16:
      return 2;
    case ValueType::kU32:
    case ValueType::kI32:
    case ValueType::kF32:
      return 4;
    case ValueType::kU64:
    case ValueType::kI64:
    case ValueType::kF64:
      return 8;
    case ValueType::kString:
    case ValueType::kArray:
      return 0;
  }
  return 0;
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// REQUIRES: a signed or unsigned integer type, or kBool.
int64_t LoadSigned(ValueType type, const std::byte* from) {
  switch (type) {
    case ValueType::kBool:
    case ValueType::kU8:
      return Load<uint8_t>(from);
    case ValueType::kI8:
      return Load<int8_t>(from);
    case ValueType::kU16:
      return Load<uint16_t>(from);
    case ValueType::kI16:
      return Load<int16_t>(from);
    case ValueType::kU32:
      return Load<uint32_t>(from);
    case ValueType::kI32:
      return Load<int32_t>(from);
    default:
      return Load<int64_t>(from);
  }
}

double LoadFloating(ValueType type, const std::byte* from) {
  return type == ValueType::kF32 ? static_cast<double>(Load<float>(from)) : Load<double>(from);
}

bool IsFloating(ValueType type) { return type == ValueType::kF32 || type == ValueType::kF64; }

bool IsUnsigned(ValueType type) {
  return type == ValueType::kU8 || type == ValueType::kU16 || type == ValueType::kU32 ||
         type == ValueType::kU64;
}

GgufValue ScalarValue(ValueType type, const std::byte* from) {
  if (type == ValueType::kBool) return Load<uint8_t>(from) != 0;
  if (IsFloating(type)) return LoadFloating(type, from);
  if (type == ValueType::kU64) return Load<uint64_t>(from);
  if (IsUnsigned(type)) return static_cast<uint64_t>(LoadSigned(type, from));
  return LoadSigned(type, from);
}

constexpr uint64_t kMostDims = 4;
constexpr uint64_t kSmallestEntry = 8 + 1 + 4 + 1;           // key length, key, type, value
constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 8 + 4 + 8;  // one dimension

}  // namespace

class GgufParser {
 public:
  GgufParser(std::span<const std::byte> bytes, std::string origin) {
    file_.path_ = std::move(origin);
    file_.bytes_ = bytes;
  }

  Result<GgufFile> Parse() {
    FT_RETURN_IF_ERROR(Header());
    FT_RETURN_IF_ERROR(CheckCount("tensor count", tensor_count_, kSmallestTensor));
    FT_RETURN_IF_ERROR(Entries());
    FT_RETURN_IF_ERROR(Alignment());
    for (uint64_t i = 0; i < tensor_count_; ++i) FT_RETURN_IF_ERROR(Tensor());
    FT_RETURN_IF_ERROR(PlaceTensors());
    return std::move(file_);
  }

  Result<GgufFile> ParseMetadata() {
    FT_RETURN_IF_ERROR(Header());
    FT_RETURN_IF_ERROR(Entries());
    return std::move(file_);
  }

 private:
  Status Entries() {
    for (uint64_t i = 0; i < entry_count_; ++i) FT_RETURN_IF_ERROR(Entry());
    return {};
  }

  Error Fail(const std::string& what) const { return Error{file_.path_ + ": " + what}; }

  Error FailAt(const std::string& field, const std::string& what) const {
    return Fail(field + " " + what);
  }

  uint64_t left() const { return file_.bytes_.size() - position_; }

  // Takes the next `count` bytes.
  Result<const std::byte*> Take(uint64_t count, const std::string& field) {
    if (count > left()) {
      return Fail("truncated in " + field + ": " + std::to_string(count) +
                  " bytes expected at offset " + std::to_string(position_) + ", " +
                  std::to_string(left()) + " found");
    }
    const std::byte* from = file_.bytes_.data() + position_;
    position_ += count;
    return from;
  }

  template <typename T>
  Result<T> Number(const std::string& field) {
    FT_ASSIGN_OR_RETURN(const std::byte* from, Take(sizeof(T), field));
    return Load<T>(from);
  }

  Result<std::string_view> Text(const std::string& field) {
    FT_ASSIGN_OR_RETURN(const uint64_t length, Number<uint64_t>("the length of " + field));
    FT_ASSIGN_OR_RETURN(const std::byte* from, Take(length, field));
    return std::string_view(reinterpret_cast<const char*>(from), length);
  }

  Result<std::string> Name(const std::string& field) {
    constexpr size_t kLongest = 65535;
    FT_ASSIGN_OR_RETURN(const std::string_view name, Text(field));
    if (name.empty() || name.size() > kLongest) {
      return FailAt(field, "is " + std::to_string(name.size()) + " bytes long, expected 1 to " +
                               std::to_string(kLongest));
    }
    if (!IsUtf8(name)) return FailAt(field, "'" + Printable(name) + "' is not UTF-8");
    return std::string(name);
  }

  Status Header() {
    FT_ASSIGN_OR_RETURN(const std::byte* magic, Take(4, "the magic number"));
    if (std::memcmp(magic, "GGUF", 4) != 0) {
      const std::string foreign =
          ForeignContent({reinterpret_cast<const char*>(magic), file_.bytes_.size()});
      return Fail(foreign.empty() ? "does not begin with 'GGUF'" : foreign);
    }
    FT_ASSIGN_OR_RETURN(const uint32_t version, Number<uint32_t>("the version"));
    if (version != 2 && version != 3) {
      const bool swapped = version != 0 && (version & 0xffffff) == 0;
      return Fail(swapped ? "is a big-endian GGUF file, expected little-endian"
                          : "GGUF version is " + std::to_string(version) + ", expected 2 or 3");
    }
    file_.version_ = static_cast<int>(version);
    FT_ASSIGN_OR_RETURN(tensor_count_, Number<uint64_t>("the tensor count"));
    FT_ASSIGN_OR_RETURN(entry_count_, Number<uint64_t>("the metadata count"));
    return CheckCount("metadata count", entry_count_, kSmallestEntry);
  }

  Status CheckCount(const std::string& field, uint64_t count, uint64_t smallest) const {
    if (count <= left() / smallest) return {};
    return FailAt(field, "is " + std::to_string(count) + ", but the " + std::to_string(left()) +
                             " bytes left hold at most " + std::to_string(left() / smallest));
  }

  Status Entry() {
    const std::string ordinal = std::to_string(file_.metadata_.size());
    FT_ASSIGN_OR_RETURN(std::string key, Name("metadata key " + ordinal));
    if (!keys_.insert(key).second) return Fail("metadata key '" + key + "' occurs twice");
    const std::string field = "metadata key '" + Printable(key) + "'";
    const size_t begin = position_;
    FT_ASSIGN_OR_RETURN(const ValueType type, Type(field));
    FT_ASSIGN_OR_RETURN(GgufValue value, Value(type, field));
    file_.metadata_.emplace_back(std::move(key), std::move(value));
    file_.encoded_.push_back(file_.bytes_.subspan(begin, position_ - begin));
    return {};
  }

  Result<ValueType> Type(const std::string& field) {
    FT_ASSIGN_OR_RETURN(const uint32_t type, Number<uint32_t>("the type of " + field));
    if (type > static_cast<uint32_t>(ValueType::kF64)) {
      return FailAt(field, "has value type " + std::to_string(type) + ", expected 0 to 12");
    }
    return static_cast<ValueType>(type);
  }

  Result<GgufValue> Value(ValueType type, const std::string& field) {
    if (type == ValueType::kArray) return Array(field);
    if (type == ValueType::kString) {
      FT_ASSIGN_OR_RETURN(const std::string_view text, Text(field));
      return GgufValue(std::string(text));
    }
    FT_ASSIGN_OR_RETURN(const std::byte* from, Take(ScalarBytes(type), field));
    return ScalarValue(type, from);
  }

  Result<GgufValue> Array(const std::string& field) {
    FT_ASSIGN_OR_RETURN(const ValueType type, Type("the items of " + field));
    FT_ASSIGN_OR_RETURN(const uint64_t count, Number<uint64_t>("the length of " + field));
    if (type == ValueType::kArray) return FailAt(field, "is an array of arrays, expected scalars");
    const bool strings = type == ValueType::kString;
    FT_RETURN_IF_ERROR(
        CheckCount("the length of " + field, count, strings ? 8 : ScalarBytes(type)));
    auto array = std::make_shared<GgufArray>();
    if (strings) {
      FT_ASSIGN_OR_RETURN(array->items, StringItems(count, field));
    } else {
      FT_ASSIGN_OR_RETURN(const std::byte* from, Take(count * ScalarBytes(type), field));
      if (IsFloating(type))
        array->items = Widened<double>(type, from, count, LoadFloating);
      else
        array->items = Widened<int64_t>(type, from, count, LoadSigned);
    }
    return GgufValue(std::move(array));
  }

  Result<std::vector<std::string_view>> StringItems(uint64_t count, const std::string& field) {
    std::vector<std::string_view> items(count);
    for (std::string_view& item : items) {
      FT_ASSIGN_OR_RETURN(item, Text(field));
    }
    return items;
  }

  template <typename Wide, typename LoadItem>
  static std::vector<Wide> Widened(ValueType type, const std::byte* from, uint64_t count,
                                   LoadItem load) {
    std::vector<Wide> items(count);
    for (Wide& item : items) {
      item = load(type, from);
      from += ScalarBytes(type);
    }
    return items;
  }

  Status Alignment() {
    if (file_.FindValue("general.alignment") == nullptr) return {};
    FT_ASSIGN_OR_RETURN(const int64_t alignment, file_.Int("general.alignment"));
    if (alignment < 8 || alignment > 1 << 20 || (alignment & (alignment - 1)) != 0) {
      return Fail("general.alignment is " + std::to_string(alignment) +
                  ", expected a power of two from 8 to 1048576");
    }
    alignment_ = static_cast<uint64_t>(alignment);
    return {};
  }

  // Parses a tensor's entry; PlaceTensors sets its bytes.
  Status Tensor() {
    const std::string ordinal = std::to_string(file_.tensors_.size());
    TensorSource tensor;
    FT_ASSIGN_OR_RETURN(tensor.name, Name("the name of tensor " + ordinal));
    if (!names_.insert(tensor.name).second) {
      return Fail("tensor '" + Printable(tensor.name) + "' occurs twice");
    }
    const std::string field = "tensor '" + Printable(tensor.name) + "'";
    FT_ASSIGN_OR_RETURN(tensor.shape, Shape(field));
    FT_ASSIGN_OR_RETURN(const uint32_t type, Number<uint32_t>("the type of " + field));
    if (!IsKnownDType(type)) {
      const std::string_view known = GgmlTypeName(type);
      return FailAt(field, "has type " +
                               (known.empty() ? std::to_string(type) : std::string(known)) +
                               ", expected F32, F16, BF16, I32, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, "
                               "Q4_K, Q5_K or Q6_K");
    }
    tensor.type = static_cast<DType>(type);
    FT_ASSIGN_OR_RETURN(const uint64_t offset, Number<uint64_t>("the offset of " + field));
    offsets_.push_back(offset);
    file_.tensors_.push_back(std::move(tensor));
    return {};
  }

  Result<std::vector<int64_t>> Shape(const std::string& field) {
    FT_ASSIGN_OR_RETURN(const uint32_t dims, Number<uint32_t>("the dimensions of " + field));
    if (dims < 1 || dims > kMostDims) {
      return FailAt(field, "has " + std::to_string(dims) + " dimensions, expected 1 to 4");
    }
    std::vector<int64_t> shape(dims);
    for (uint32_t i = 0; i < dims; ++i) {
      FT_ASSIGN_OR_RETURN(const uint64_t size, Number<uint64_t>("the shape of " + field));
      if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return FailAt(field, "has a dimension of " + std::to_string(size) + ", too large");
      }
      shape[dims - 1 - i] = static_cast<int64_t>(size);
    }
    return shape;
  }

  Status PlaceTensors() {
    if (file_.tensors_.empty()) return {};
    const uint64_t padding = (alignment_ - position_ % alignment_) % alignment_;
    FT_RETURN_IF_ERROR(Take(padding, "the padding before the tensor data"));
    std::vector<TensorExtent> extents;
    for (size_t i = 0; i < file_.tensors_.size(); ++i) {
      const TensorSource& tensor = file_.tensors_[i];
      Result<uint64_t> size = TensorBytes(tensor.type, tensor.shape);
      const std::string field = "tensor '" + Printable(tensor.name) + "'";
      if (!size.ok()) return FailAt(field, size.error().message);
      if (offsets_[i] % alignment_ != 0) {
        return FailAt(field, "lies at offset " + std::to_string(offsets_[i]) +
                                 ", expected a multiple of " + std::to_string(alignment_));
      }
      extents.push_back({offsets_[i], *size});
    }
    return PlaceTensorBytes(file_.path_, file_.bytes_.subspan(position_), extents, file_.tensors_);
  }

  GgufFile file_;
  size_t position_ = 0;
  uint64_t tensor_count_ = 0, entry_count_ = 0;
  uint64_t alignment_ = 32;
  std::unordered_set<std::string> keys_, names_;
  std::vector<uint64_t> offsets_;
};

Result<GgufFile> GgufFile::Parse(std::span<const std::byte> bytes, std::string origin) {
  return GgufParser(bytes, std::move(origin)).Parse();
}

Result<GgufFile> GgufFile::Open(const std::string& path) {
  FT_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(GgufFile file, Parse(mapped.bytes(), path));
  file.file_ = std::move(mapped);
  return file;
}

Result<GgufFile> GgufFile::OpenMetadata(const std::string& path) {
  FT_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  FT_ASSIGN_OR_RETURN(GgufFile file, GgufParser(mapped.bytes(), path).ParseMetadata());
  file.file_ = std::move(mapped);
  return file;
}

}  // namespace foretoken
