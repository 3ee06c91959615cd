#include "io/finite_values.h"

#include <cstdint>
#include <cstring>

namespace foretoken {
namespace {

constexpr uint32_t kFloatExponent = 0x7F800000;
constexpr uint16_t kHalfExponent = 0x7C00, kBf16Exponent = 0x7F80;

// Whether a word at data[i * stride], i < count, has every bit of `exponent` set: NaN or infinity.
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

// Where the numbers in half precision lie in a block; both alike where there is one.
struct Scales {
  size_t first, second;
};

Scales ScalesOf(DType type) {
  switch (type) {
    case DType::kQ4_1:
    case DType::kQ5_1:
    case DType::kQ4_K:
    case DType::kQ5_K:
      return {0, 2};
    case DType::kQ6_K:
      return {208, 208};
    default:
      return {0, 0};
  }
}

}  // namespace

bool AllFinite(DType type, std::span<const std::byte> bytes) {
  if (type == DType::kI32) return true;
  if (type == DType::kF32) return !AnyFull(bytes, kFloatExponent);
  if (type == DType::kF16) return !AnyFull(bytes, kHalfExponent);
  if (type == DType::kBF16) return !AnyFull(bytes, kBf16Exponent);
  const auto [first, second] = ScalesOf(type);
  const size_t stride = BlockBytes(type), blocks = bytes.size() / stride;
  return !AnyFull(bytes.data() + first, blocks, stride, kHalfExponent) &&
         (second == first || !AnyFull(bytes.data() + second, blocks, stride, kHalfExponent));
}

}  // namespace foretoken
