// The instructions of the matrix unit (AMX). They are written in assembly, because GCC's intrinsics
// accept only literal register numbers.
#pragma once

#include "backend/cpu/isa/amx_tiles.h"

namespace foretoken::FT_ISA {

FT_INLINE void LoadTileConfig(const TileConfig& config) {
  asm volatile("ldtilecfg %0" ::"m"(config));
}
FT_INLINE void ReleaseTiles() { asm volatile("tilerelease"); }

template <int kTile>
FT_INLINE void ZeroTile() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
template <int kTile>
FT_INLINE void LoadTile(const void* from, int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
FT_INLINE void StoreTile(void* to, int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(kTile) : "memory");
}
// Matrix product kSum += kRows * kCodes, of signed and unsigned bytes. Each 32-bit word of an
// operand holds four bytes, which are consecutive in the inner dimension.
template <int kSum, int kRows, int kCodes>
FT_INLINE void MultiplySignedUnsigned() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kRows), "i"(kCodes));
}
// Matrix product kSum += kRows * kPairs. Each 32-bit word of an operand holds two bf16 values,
// which are consecutive in the inner dimension.
template <int kSum, int kRows, int kPairs>
FT_INLINE void MultiplyBf16Pairs() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kRows), "i"(kPairs));
}

}  // namespace foretoken::FT_ISA
