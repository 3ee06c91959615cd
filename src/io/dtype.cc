#include "io/dtype.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/comma_list.h"
#include "io/block_formats.h"
#include "io/k_formats.h"

namespace foretoken {
namespace {

static_assert(std::endian::native == std::endian::little, "model files are read in place");

struct Format {
  DType type;
  std::string_view name;
  int elements;  // per block
  size_t bytes;  // per block
};

constexpr std::array kFormats = {
    Format{DType::kF32, "F32", 1, 4},       Format{DType::kF16, "F16", 1, 2},
    Format{DType::kBF16, "BF16", 1, 2},     Format{DType::kI32, "I32", 1, 4},
    Format{DType::kQ8_0, "Q8_0", 32, 34},   Format{DType::kQ4_0, "Q4_0", 32, 18},
    Format{DType::kQ4_1, "Q4_1", 32, 20},   Format{DType::kQ5_0, "Q5_0", 32, 22},
    Format{DType::kQ5_1, "Q5_1", 32, 24},   Format{DType::kQ4_K, "Q4_K", 256, 144},
    Format{DType::kQ5_K, "Q5_K", 256, 176}, Format{DType::kQ6_K, "Q6_K", 256, 210},
};

// Indexed by GGUF's type number; withdrawn types keep their numbers.
constexpr std::array<std::string_view, 40> kGgmlTypes = {
    "F32",   "F16",        "Q4_0",       "Q4_1",       "Q4_2",     "Q4_3",     "Q5_0",
    "Q5_1",  "Q8_0",       "Q8_1",       "Q2_K",       "Q3_K",     "Q4_K",     "Q5_K",
    "Q6_K",  "Q8_K",       "IQ2_XXS",    "IQ2_XS",     "IQ3_XXS",  "IQ1_S",    "IQ4_NL",
    "IQ3_S", "IQ2_S",      "IQ4_XS",     "I8",         "I16",      "I32",      "I64",
    "F64",   "IQ1_M",      "BF16",       "Q4_0_4_4",   "Q4_0_4_8", "Q4_0_8_8", "TQ1_0",
    "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8", "IQ4_NL_8_8", "MXFP4"};

const Format* FindFormat(DType type) {
  for (const Format& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

const Format& FormatOf(DType type) {
  const Format* format = FindFormat(type);
  FT_CHECK(format != nullptr);
  return *format;
}

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  for (size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

template <typename From, typename Convert>
void Widen(const std::byte* data, std::span<float> out, Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, data + i * sizeof(From), sizeof(From));
    out[i] = static_cast<float>(convert(value));
  }
}

template <typename To, typename Convert>
void Narrow(std::span<const float> values, std::byte* out, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    const To value = convert(values[i]);
    std::memcpy(out + i * sizeof(To), &value, sizeof(To));
  }
}

// Applies `one(block bytes, block values)` to every block.
template <typename Values, typename Bytes, typename One>
void EachBlock(DType type, Values values, Bytes* bytes, One one) {
  const Format& format = FormatOf(type);
  const auto elements = static_cast<size_t>(format.elements);
  FT_CHECK(values.size() % elements == 0);
  for (size_t i = 0; i < values.size(); i += elements, bytes += format.bytes) {
    one(bytes, values.data() + i);
  }
}

}  // namespace

std::string_view DTypeName(DType type) {
  const Format* format = FindFormat(type);
  return format == nullptr ? "?" : format->name;
}

Result<DType> ParseDType(std::string_view name) {
  for (const Format& format : kFormats) {
    if (SameIgnoringCase(format.name, name)) return format.type;
  }
  return Error{"unknown number format '" + std::string(name) + "', expected one of " +
               CommaList(kFormats, &Format::name)};
}

std::string_view GgmlTypeName(uint32_t value) {
  return value < kGgmlTypes.size() ? kGgmlTypes[value] : std::string_view();
}

bool IsKnownDType(uint32_t value) { return FindFormat(static_cast<DType>(value)) != nullptr; }

int BlockElements(DType type) { return FormatOf(type).elements; }

size_t BlockBytes(DType type) { return FormatOf(type).bytes; }

size_t RowBytes(DType type, int64_t elements) {
  const Format& format = FormatOf(type);
  FT_CHECK(elements >= 0 && elements % format.elements == 0);
  return static_cast<size_t>(elements / format.elements) * format.bytes;
}

void Dequantize(DType type, const std::byte* data, std::span<float> out) {
  switch (type) {
    case DType::kF32:
      return Widen<float>(data, out, [](float v) { return v; });
    case DType::kI32:
      return Widen<int32_t>(data, out, [](int32_t v) { return v; });
    case DType::kF16:
      return Widen<uint16_t>(data, out, HalfToFloat);
    case DType::kBF16:
      return Widen<uint16_t>(data, out, Bf16ToFloat);
    case DType::kQ8_0:
      return EachBlock(type, out, data, DecodeQ8_0);
    case DType::kQ4_0:
      return EachBlock(type, out, data, DecodeQ4_0);
    case DType::kQ4_1:
      return EachBlock(type, out, data, DecodeQ4_1);
    case DType::kQ5_0:
      return EachBlock(type, out, data, DecodeQ5_0);
    case DType::kQ5_1:
      return EachBlock(type, out, data, DecodeQ5_1);
    case DType::kQ4_K:
      return EachBlock(type, out, data, DecodeQ4_K);
    case DType::kQ5_K:
      return EachBlock(type, out, data, DecodeQ5_K);
    case DType::kQ6_K:
      return EachBlock(type, out, data, DecodeQ6_K);
  }
  FT_CHECK(!"a known number format");
}

void Quantize(DType type, std::span<const float> values, std::byte* out) {
  switch (type) {
    case DType::kF32:
      return Narrow<float>(values, out, [](float v) { return v; });
    case DType::kI32:
      return Narrow<int32_t>(values, out,
                             [](float v) { return RoundToInt(v, -2147483520.f, 2147483520.f); });
    case DType::kF16:
      return Narrow<uint16_t>(values, out, FloatToHalf);
    case DType::kBF16:
      return Narrow<uint16_t>(values, out, FloatToBf16);
    case DType::kQ8_0:
      return EachBlock(type, values, out, EncodeQ8_0);
    case DType::kQ4_0:
      return EachBlock(type, values, out, EncodeQ4_0);
    case DType::kQ4_1:
      return EachBlock(type, values, out, EncodeQ4_1);
    case DType::kQ5_0:
      return EachBlock(type, values, out, EncodeQ5_0);
    case DType::kQ5_1:
      return EachBlock(type, values, out, EncodeQ5_1);
    case DType::kQ4_K:
      return EachBlock(type, values, out, EncodeQ4_K);
    case DType::kQ5_K:
      return EachBlock(type, values, out, EncodeQ5_K);
    case DType::kQ6_K:
      return EachBlock(type, values, out, EncodeQ6_K);
  }
  FT_CHECK(!"a known number format");
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24, exact in float
    const float magnitude = static_cast<float>(mantissa) * 0x1.0p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  const uint32_t wide = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu);  // NaN
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to 65536 or more: infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 leaves the subnormal in the low bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000u);
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

float Bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t FloatToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>((bits >> 16) | 0x40u);  // rounding could turn a NaN into infinity
  }
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace foretoken
