// The K formats: super-blocks of 256 values whose sub-blocks have scales that are themselves
// quantised. Q4_K and Q5_K: 8 sub-blocks with a 6-bit scale and a 6-bit minimum; Q6_K: 16
// sub-blocks with an 8-bit scale. Encoding searches for the scale of each sub-block that
// minimises the weighted error.
#pragma once

#include <cstddef>

namespace foretoken {

// Each reads or writes one super-block.
void DecodeQ4_K(const std::byte* block, float* out);
void DecodeQ5_K(const std::byte* block, float* out);
void DecodeQ6_K(const std::byte* block, float* out);
void EncodeQ4_K(std::byte* block, const float* values);
void EncodeQ5_K(std::byte* block, const float* values);
void EncodeQ6_K(std::byte* block, const float* values);

}  // namespace foretoken
