#include "io/finite_values.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace foretoken {
namespace {

constexpr uint32_t kFloatExponent = 0x7F800000;
constexpr uint16_t kHalfExponent = 0x7C00, kBf16Exponent = 0x7F80;

// Whether any word data[i * stride], i < count, has all bits of `exponent` set: NaN or infinity.
template <typename Word>
bool AnyFull(const std::byte* data, size_t count, size_t stride, Word exponent) {
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, data + i * stride, sizeof(word));
    found |= static_cast<uint32_t>((word & exponent) == exponent);
  }
  return found != 0;
}

template <typename Word>
bool AnyFull(std::span<const std::byte> bytes, Word exponent) {
  return AnyFull(bytes.data(), bytes.size() / sizeof(Word), sizeof(Word), exponent);
}

// Whether the half-precision value at byte `offset` of every block is finite.
bool ScalesAreFinite(DType type, std::span<const std::byte> bytes, size_t offset) {
  const size_t stride = BlockBytes(type), blocks = bytes.size() / stride;
  return !AnyFull(bytes.data() + offset, blocks, stride, kHalfExponent);
}

}  // namespace

bool AllFinite(DType type, std::span<const std::byte> bytes) {
  switch (type) {
    case DType::kI32:
      return true;
    case DType::kF32:
      return !AnyFull(bytes, kFloatExponent);
    case DType::kF16:
      return !AnyFull(bytes, kHalfExponent);
    case DType::kBF16:
      return !AnyFull(bytes, kBf16Exponent);
    case DType::kQ8_0:
    case DType::kQ4_0:
    case DType::kQ5_0:
      return ScalesAreFinite(type, bytes, 0);
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return ScalesAreFinite(type, bytes, 0) && ScalesAreFinite(type, bytes, 2);
    case DType::kQ6_K:
      return ScalesAreFinite(type, bytes, 208);
  }
  FT_CHECK(!"a known number format");
  return false;
}

}  // namespace foretoken
