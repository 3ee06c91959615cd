// Formats with blocks of 32 values: one scale (and for _1 a minimum) in half precision, and codes
// of 4, 5 or 8 bits. Encoding rounds like ggml's reference, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace foretoken {

// Each function decodes or encodes one block.
void DecodeQ8_0(const std::byte* block, float* out);
void DecodeQ4_0(const std::byte* block, float* out);
void DecodeQ4_1(const std::byte* block, float* out);
void DecodeQ5_0(const std::byte* block, float* out);
void DecodeQ5_1(const std::byte* block, float* out);
void EncodeQ8_0(std::byte* block, const float* values);
void EncodeQ4_0(std::byte* block, const float* values);
void EncodeQ4_1(std::byte* block, const float* values);
void EncodeQ5_0(std::byte* block, const float* values);
void EncodeQ5_1(std::byte* block, const float* values);

// `value` truncated towards zero and clamped to [low, high]; NaN gives low.
int TruncateToInt(float value, float low, float high);
// `value` rounded half away from zero and clamped to [low, high]; NaN gives low.
int RoundToInt(float value, float low, float high);

inline uint16_t LoadU16(const std::byte* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

inline void StoreU16(std::byte* to, uint16_t value) { std::memcpy(to, &value, sizeof(value)); }

}  // namespace foretoken
