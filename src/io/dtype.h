// Number formats of model files: names, sizes, conversion to and from float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "io/dtype_enum.h"

namespace foretoken {

// "F32", "Q4_K", ...; "?" for a value that is not an enumerator.
std::string_view DTypeName(DType type);
// Case-insensitive inverse of DTypeName. Errors: unknown name (lists the known ones).
Result<DType> ParseDType(std::string_view name);
// Whether `value` is one of the enumerators.
bool IsKnownDType(uint32_t value);
// ggml's name for a type number in GGUF files, also for types that are not supported here; "" for
// unknown numbers.
std::string_view GgmlTypeName(uint32_t value);

int BlockElements(DType type);  // elements per block: 1, 32 or 256
size_t BlockBytes(DType type);  // bytes per block
// Bytes of `elements` values; REQUIRES: elements % BlockElements(type) == 0.
size_t RowBytes(DType type, int64_t elements);

// Decodes quantised data exactly as ggml does. REQUIRES: out.size() % BlockElements == 0.
void Dequantize(DType type, const std::byte* data, std::span<float> out);
// Encodes values, with ggml's reference rounding for the simple types and a search for scales for
// the K types. REQUIRES: values.size() % BlockElements == 0.
void Quantize(DType type, std::span<const float> values, std::byte* out);

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);  // round to nearest even
float Bf16ToFloat(uint16_t bits);
uint16_t FloatToBf16(float value);  // round to nearest even; NaN stays NaN

}  // namespace foretoken
