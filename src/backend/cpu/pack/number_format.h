// The number formats of weights. kFormatTraits has an entry for each, with the constants in which
// they differ. Two more things belong to a format: how its blocks are packed and unpacked
// (ReadCodes, PutScales and AffineOf in panel_format.cc; for unquantised formats PackPlain and
// PlainOffset), and how products decode them (Codes in weight_codes.h; for unquantised formats Step
// in linear_table.h).
#pragma once

#include <cstdint>

#include "backend/cpu/isa/always_inline.h"
#include "io/dtype_enum.h"

namespace foretoken {

// Weights are packed into panels of 16 outputs, so that a vector lane is an output: no sum crosses
// lanes, and each output is summed over its inputs in a fixed order (ascending, except within an
// instruction for BF16), whatever other outputs are computed.
inline constexpr int kPanel = 16;
inline constexpr int kBlock = 32;   // inputs that share an activation scale
inline constexpr int kSuper = 256;  // inputs of a K format's super-block, which share d and m
inline constexpr int kGroupBlocks = kSuper / kBlock;

// Quantised formats first.
enum class Format : int {
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kF32,
  kF16,
  kBF16
};
inline constexpr int kFormats = static_cast<int>(Format::kBF16) + 1;  // kBF16 is the last
inline constexpr int kQuantisedFormats = static_cast<int>(Format::kF32);

struct FormatTraits {
  Format format;
  DType type;                // in model files
  int bits;                  // bits of a code, or of a value in unquantised formats
  int zero = 0;              // value = d (code - zero), d being the scale
  bool has_minimum = false;  // value = d code + m instead (in K formats d code - m), m the minimum
  int halves = 1;            // parts of a block that have their own scale: 1 (the whole block) or 2
  // A K format: the blocks of a group share d and m. A one-byte sub-scale for each of a block's
  // `halves` multiplies d; in formats with minima, a one-byte sub-minimum for each block multiplies
  // m.
  bool super = false;

  FT_INLINE constexpr bool quantised() const { return bits <= 8; }

  // Bytes of a block in a quantised panel (PanelLayout).
  FT_INLINE constexpr int64_t code_bytes() const { return kPanel * kBlock / (bits == 8 ? 1 : 2); }
  FT_INLINE constexpr int64_t high_bytes() const {
    return bits == 8 ? 0 : kPanel * kBlock * (bits - 4) / 8;
  }
  // Bytes of the scales and minima of a block; of a group in K formats.
  FT_INLINE constexpr int64_t scale_bytes() const {
    const int minima = has_minimum ? 1 : 0;
    return kPanel * (2 * (1 + minima) + (super ? kGroupBlocks * (halves + minima) : 0));
  }
};

inline constexpr FormatTraits kFormatTraits[] = {
    {.format = Format::kQ8_0, .type = DType::kQ8_0, .bits = 8, .zero = 128},
    {.format = Format::kQ4_0, .type = DType::kQ4_0, .bits = 4, .zero = 8},
    {.format = Format::kQ4_1, .type = DType::kQ4_1, .bits = 4, .has_minimum = true},
    {.format = Format::kQ5_0, .type = DType::kQ5_0, .bits = 5, .zero = 16},
    {.format = Format::kQ5_1, .type = DType::kQ5_1, .bits = 5, .has_minimum = true},
    {.format = Format::kQ4_K, .type = DType::kQ4_K, .bits = 4, .has_minimum = true, .super = true},
    {.format = Format::kQ5_K, .type = DType::kQ5_K, .bits = 5, .has_minimum = true, .super = true},
    {.format = Format::kQ6_K,
     .type = DType::kQ6_K,
     .bits = 6,
     .zero = 32,
     .halves = 2,
     .super = true},
    {.format = Format::kF32, .type = DType::kF32, .bits = 32},
    {.format = Format::kF16, .type = DType::kF16, .bits = 16},
    {.format = Format::kBF16, .type = DType::kBF16, .bits = 16},
};

FT_INLINE constexpr const FormatTraits& TraitsOf(Format format) {
  return kFormatTraits[static_cast<int>(format)];
}
template <Format kFormat>
inline constexpr FormatTraits kTraitsOf = TraitsOf(kFormat);

// Whether every Format has an entry at its index, and quantised formats come first.
consteval bool FormatTraitsAreComplete() {
  for (int f = 0; f < kFormats; ++f) {
    const FormatTraits& traits = kFormatTraits[f];
    if (static_cast<int>(traits.format) != f) return false;
    if (traits.quantised() != (f < kQuantisedFormats)) return false;
  }
  return sizeof(kFormatTraits) == kFormats * sizeof(FormatTraits);
}
static_assert(FormatTraitsAreComplete());

// A quantised panel is one stream, read from its first byte to its last. It consists of groups of
// eight blocks (fewer in the last group). A group begins with its scales, padded to a multiple of
// 64 bytes, followed by the codes and high bits of each block.
//   codes: per block 8 code vectors of 64 bytes; byte 4 * lane + j of code vector g is the code of
//          input 4 g + j of that lane's output. 8-bit formats store the code vectors; others store
//          the low four bits of code vectors g and g + 4 as the low and high nibbles of one 64-byte
//          vector. Codes are unsigned: value = d (code - zero) or d code + m or d code - m.
//   high:  the fifth bits of a block as one vector (bit g of a byte belongs to code vector g), or
//          the top two bits as two vectors (those of code vector g are in vector g / 4, from bit
//          2 (g % 4) of a byte on).
//   scale: per block 16 half-precision d, then 16 m where the format has minima. In K formats, d
//          and m are per group and are followed for each block (in Q6_K, for each half) by 16
//          one-byte sub-scales and, where the format has minima, 16 one-byte sub-minima.
// Unquantised panels are [cols][16] values, BF16 [cols / 2][16][2]. For cores that read a single
// stream fastest, four unquantised panels are interleaved in one stream: a slab of the first, a
// slab of the second, and so on. The activations for one slab then stay in the L1 cache for all
// four panels.

// Maximum number of panels that are interleaved, or read as parallel streams.
inline constexpr int kMostTogether = 4;

struct PanelLayout {
  int64_t code_bytes = 0;   // bytes of a block's codes
  int64_t high_bytes = 0;   // bytes of a block's high bits
  int64_t scale_bytes = 0;  // bytes of the scales and minima of a block; of a group in K formats
  bool super = false;       // a K format
  int64_t panel_bytes = 0;
  // Panels that are interleaved; a weight is padded to a multiple of this many panels.
  int64_t together = 1;
  // Bytes of a slab; a panel's last slab may be smaller. Unused if `together` is 1.
  int64_t slab_bytes = 1;

  // Bytes of a weight of `panels` panels.
  FT_INLINE constexpr int64_t Bytes(int64_t panels) const {
    return (panels + together - 1) / together * together * panel_bytes;
  }
  // The offset of byte `byte` of a panel from the first byte of panel 0.
  FT_INLINE constexpr int64_t At(int64_t panel, int64_t byte) const {
    if (together == 1) return panel * panel_bytes + byte;
    const int64_t slab = byte / slab_bytes * slab_bytes;
    const int64_t rest = panel_bytes - slab;
    return panel / together * together * panel_bytes + slab * together +
           panel % together * (rest < slab_bytes ? rest : slab_bytes) + byte - slab;
  }
  // Bytes of the scales of a group of `blocks` blocks, and of the group; multiples of 64.
  FT_INLINE constexpr int64_t ScaleBytes(int64_t blocks) const {
    return ((super ? scale_bytes : blocks * scale_bytes) + 63) / 64 * 64;
  }
  FT_INLINE constexpr int64_t GroupBytes(int64_t blocks) const {
    return ScaleBytes(blocks) + blocks * (code_bytes + high_bytes);
  }
};

}  // namespace foretoken
