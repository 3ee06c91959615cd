// Decoding of packed blocks, for every quantised format, and access to the parts of an int8 tile.
#pragma once

#include "backend/cpu/isa/vec.h"
#include "backend/cpu/kernels.h"

namespace foretoken::FT_ISA {

// The members that Codes has for every format; FormatTraits holds the format's constants. Vector
// returns code vector g of a block (number_format.h). Scale and Minimum return the scale of block
// `sub` of a group (in Q6_K, of a half of that block) and the minimum, which is to be added. Their
// argument `scales` points to the scales of the group. D returns the scale that the blocks of a
// group share in K formats.
struct FormatBase {
  FT_INLINE static F D(const std::byte*) { return Zero(); }
  FT_INLINE static F Scale(F, const std::byte* scales, int sub, int) {
    return LoadHalf(scales + 32 * sub);
  }
};

// A format with a minimum after each scale.
template <typename Base>
struct MinimumFormat : Base {
  FT_INLINE static F Scale(F, const std::byte* scales, int sub, int) {
    return LoadHalf(scales + 64 * sub);
  }
  FT_INLINE static F Minimum(const std::byte* scales, int sub) {
    return LoadHalf(scales + 64 * sub + 32);
  }
};

struct NibbleFormat : FormatBase {
  FT_INLINE static I Vector(const std::byte* codes, const std::byte*, int g) {
    const I nibbles = LoadI(codes + 64 * (g % 4));
    return (g < 4 ? nibbles : ShiftRight(nibbles, 4)) & Splat(0x0f0f0f0f);
  }
};

struct FiveBitFormat : FormatBase {
  FT_INLINE static I Vector(const std::byte* codes, const std::byte* high, int g) {
    const I bits = LoadI(high);
    const I fifth = (g < 4 ? ShiftLeft(bits, 4 - g) : ShiftRight(bits, g - 4)) & Splat(0x10101010);
    return NibbleFormat::Vector(codes, high, g) | fifth;
  }
};

// Scales of Q4_K and Q5_K: 16 d, 16 m, then 16 sub-scales and 16 sub-minima for each of 8 blocks.
template <typename Base>
struct SuperFormat : Base {
  FT_INLINE static F D(const std::byte* scales) { return LoadHalf(scales); }
  FT_INLINE static F Scale(F d, const std::byte* scales, int sub, int) {
    return d * ToF(LoadU8(scales + 64 + 32 * sub));
  }
  FT_INLINE static F Minimum(const std::byte* scales, int sub) {
    return Zero() - LoadHalf(scales + 32) * ToF(LoadU8(scales + 80 + 32 * sub));
  }
};

template <Format>
struct Codes;

template <>
struct Codes<Format::kQ8_0> : FormatBase {
  FT_INLINE static I Vector(const std::byte* codes, const std::byte*, int g) {
    return LoadI(codes + 64 * g);
  }
};
template <>
struct Codes<Format::kQ4_0> : NibbleFormat {};
template <>
struct Codes<Format::kQ4_1> : MinimumFormat<NibbleFormat> {};
template <>
struct Codes<Format::kQ5_0> : FiveBitFormat {};
template <>
struct Codes<Format::kQ5_1> : MinimumFormat<FiveBitFormat> {};
template <>
struct Codes<Format::kQ4_K> : SuperFormat<NibbleFormat> {};
template <>
struct Codes<Format::kQ5_K> : SuperFormat<FiveBitFormat> {};
// Scales of Q6_K: 16 d, then 16 signed sub-scales for each half of each block.
template <>
struct Codes<Format::kQ6_K> : FormatBase {
  FT_INLINE static F D(const std::byte* scales) { return LoadHalf(scales); }
  FT_INLINE static I Vector(const std::byte* codes, const std::byte* high, int g) {
    const I bits = LoadI(high + 64 * (g / 4));
    const int bit = 2 * (g % 4);
    const I top =
        (bit <= 4 ? ShiftLeft(bits, 4 - bit) : ShiftRight(bits, bit - 4)) & Splat(0x30303030);
    return NibbleFormat::Vector(codes, high, g) | top;
  }
  FT_INLINE static F Scale(F d, const std::byte* scales, int sub, int half) {
    return d * ToF(LoadS8(scales + 32 + 32 * sub + 16 * half));
  }
};

// One block of R rows in an int8 tile.
template <Format kFormat, int R>
struct TileBlock {
  static constexpr TileKind kKind = TileOf(kFormat);
  static constexpr int64_t kBytes = R * TileBlockBytes(kKind);

  const std::byte* at;

  // The four codes of row `row` that are multiplied with code vector i.
  FT_INLINE const std::byte* Four(int row, int i) const { return at + 4 * (8 * row + i); }
  FT_INLINE float Base(int row) const { return ValueAt<float>(8 * R + row); }
  FT_INLINE int32_t BaseBits(int row) const { return ValueAt<int32_t>(8 * R + row); }
  FT_INLINE float Sum(int row) const {
    static_assert(kKind == TileKind::kInt8Sum);
    return ValueAt<float>(9 * R + row);
  }
  // The start value of a sum over a block, or over a half of it.
  FT_INLINE int32_t Start(int row, int half) const {
    if constexpr (kKind == TileKind::kInt8Sum) return BaseBits(row);
    return ValueAt<int32_t>((9 + half) * R + row);
  }

 private:
  template <typename T>
  FT_INLINE T ValueAt(int i) const {
    T x;
    __builtin_memcpy(&x, at + 4 * i, 4);
    return x;
  }
};

}  // namespace foretoken::FT_ISA
