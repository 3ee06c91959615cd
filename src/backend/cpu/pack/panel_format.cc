#include "backend/cpu/pack/panel_format.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace foretoken {
namespace {

using BlockCodes = std::array<uint8_t, kBlock>;

uint16_t LoadU16(const std::byte* p) {
  uint16_t x;
  std::memcpy(&x, p, sizeof(x));
  return x;
}
void StoreU16(std::byte* p, uint16_t x) { std::memcpy(p, &x, sizeof(x)); }
uint8_t ByteAt(const std::byte* p, int64_t i) { return static_cast<uint8_t>(p[i]); }
float HalfAt(const std::byte* p) { return HalfToFloat(LoadU16(p)); }

// Bytes of a lane's value in an unquantised panel.
int64_t PlainBytes(Format f) { return TraitsOf(f).bits / 8; }

// Bytes of a slab where four unquantised panels are interleaved: so few that a chunk's activations
// for the inputs of one slab stay in the L1 cache.
constexpr int64_t kSlabBytes = 16 << 10;

// Where input i of a lane lies in an unquantised panel.
int64_t PlainOffset(Format f, int64_t i, int lane) {
  if (f == Format::kBF16) return (i / 2 * kPanel + lane) * 4 + i % 2 * 2;
  return (i * kPanel + lane) * PlainBytes(f);
}

// --- Codes of one lane and block inside a panel.

void PutBytes(const BlockCodes& codes, int lane, std::byte* at) {
  for (int g = 0; g < 8; ++g) std::memcpy(at + 64 * g + 4 * lane, codes.data() + 4 * g, 4);
}
void PutNibbles(const BlockCodes& codes, int lane, std::byte* at) {
  std::array<uint8_t, 16> nibbles;
  for (int i = 0; i < 16; ++i) nibbles[i] = (codes[i] & 15) | codes[i + 16] << 4;
  for (int g = 0; g < 4; ++g) std::memcpy(at + 64 * g + 4 * lane, nibbles.data() + 4 * g, 4);
}
void PutFifthBits(const BlockCodes& codes, int lane, std::byte* at) {
  for (int j = 0; j < 4; ++j) {
    uint8_t bits = 0;
    for (int g = 0; g < 8; ++g) bits |= (codes[4 * g + j] >> 4 & 1) << g;
    at[4 * lane + j] = static_cast<std::byte>(bits);
  }
}
void PutTopPairs(const BlockCodes& codes, int lane, std::byte* at) {
  for (int u = 0; u < 2; ++u) {
    for (int j = 0; j < 4; ++j) {
      uint8_t bits = 0;
      for (int g = 0; g < 4; ++g) bits |= (codes[16 * u + 4 * g + j] >> 4 & 3) << 2 * g;
      at[64 * u + 4 * lane + j] = static_cast<std::byte>(bits);
    }
  }
}
FT_INLINE void PutCodes(int bits, const BlockCodes& codes, int lane, std::byte* low,
                        std::byte* high) {
  if (bits == 8) return PutBytes(codes, lane, low);
  PutNibbles(codes, lane, low);
  if (bits == 5) PutFifthBits(codes, lane, high);
  if (bits == 6) PutTopPairs(codes, lane, high);
}

BlockCodes GetCodes(int bits, int lane, const std::byte* low, const std::byte* high) {
  BlockCodes codes;
  for (int i = 0; i < kBlock; ++i) {
    const int g = i / 4, at = 4 * lane + i % 4;
    if (bits == 8) {
      codes[i] = ByteAt(low, 64 * g + at);
      continue;
    }
    codes[i] = ByteAt(low, 64 * (g % 4) + at) >> (g < 4 ? 0 : 4) & 15;
    if (bits == 5) codes[i] |= (ByteAt(high, at) >> g & 1) << 4;
    if (bits == 6) codes[i] |= (ByteAt(high, 64 * (g / 4) + at) >> 2 * (g % 4) & 3) << 4;
  }
  return codes;
}

// --- Codes of one block inside a model file.

BlockCodes ReadBytes(const std::byte* from) {
  BlockCodes codes;
  for (int i = 0; i < kBlock; ++i) codes[i] = ByteAt(from, i) ^ 0x80;
  return codes;
}
BlockCodes ReadNibbles(const std::byte* from) {
  BlockCodes codes;
  for (int i = 0; i < 16; ++i) {
    codes[i] = ByteAt(from, i) & 15;
    codes[i + 16] = ByteAt(from, i) >> 4;
  }
  return codes;
}
BlockCodes ReadFiveBits(const std::byte* from) {
  uint32_t fifth;
  std::memcpy(&fifth, from, sizeof(fifth));
  BlockCodes codes = ReadNibbles(from + 4);
  for (int i = 0; i < kBlock; ++i) codes[i] |= (fifth >> i & 1) << 4;
  return codes;
}
// Sub-block s of Q4_K or Q5_K: sub-blocks 2j and 2j + 1 share 32 bytes of nibbles.
BlockCodes ReadSharedNibbles(const std::byte* from, int s) {
  BlockCodes codes;
  const int shift = s % 2 * 4;
  for (int i = 0; i < kBlock; ++i) codes[i] = ByteAt(from, s / 2 * 32 + i) >> shift & 15;
  return codes;
}
BlockCodes ReadQ5_K(const std::byte* block, int s) {
  BlockCodes codes = ReadSharedNibbles(block + 48, s);
  for (int i = 0; i < kBlock; ++i) codes[i] |= (ByteAt(block + 16, i) >> s & 1) << 4;
  return codes;
}
BlockCodes ReadQ6_K(const std::byte* block, int s) {
  const std::byte* low = block + s / 4 * 64 + s % 2 * 32;
  const std::byte* high = block + 128 + s / 4 * 32;
  const int low_shift = s % 4 / 2 * 4, high_shift = s % 4 * 2;
  BlockCodes codes;
  for (int i = 0; i < kBlock; ++i) {
    codes[i] = (ByteAt(low, i) >> low_shift & 15) | (ByteAt(high, i) >> high_shift & 3) << 4;
  }
  return codes;
}

// The codes of one block of the panel: those of a block of the file or, in K formats, those of its
// sub-block `sub`.
FT_INLINE BlockCodes ReadCodes(Format f, const std::byte* block, int sub) {
  switch (f) {
    case Format::kQ8_0:
      return ReadBytes(block + 2);
    case Format::kQ4_0:
      return ReadNibbles(block + 2);
    case Format::kQ4_1:
      return ReadNibbles(block + 4);
    case Format::kQ5_0:
      return ReadFiveBits(block + 2);
    case Format::kQ5_1:
      return ReadFiveBits(block + 4);
    case Format::kQ4_K:
      return ReadSharedNibbles(block + 16, sub);
    case Format::kQ5_K:
      return ReadQ5_K(block, sub);
    case Format::kQ6_K:
      return ReadQ6_K(block, sub);
    case Format::kF32:
    case Format::kF16:
    case Format::kBF16:
      break;
  }
  FT_CHECK(!"a quantised format");
  return {};
}

// --- Whole panels.

// The offsets of the parts of block `b` in a panel of `blocks` blocks.
struct BlockPlace {
  int64_t codes, high, scales;  // scales: in K formats, those of the group
};
BlockPlace PlaceOf(const PanelLayout& layout, int64_t blocks, int64_t b) {
  const int64_t group = b / kGroupBlocks, in_group = b % kGroupBlocks;
  const int64_t count = std::min<int64_t>(kGroupBlocks, blocks - group * kGroupBlocks);
  const int64_t begin = group * layout.GroupBytes(kGroupBlocks);
  const int64_t codes =
      begin + layout.ScaleBytes(count) + in_group * (layout.code_bytes + layout.high_bytes);
  return {codes, codes + layout.code_bytes,
          begin + (layout.super ? 0 : in_group * layout.scale_bytes)};
}

// Rows of a model file that become the lanes of a panel.
struct Lanes {
  const std::byte* first;
  int64_t row_bytes;
  int count;

  const std::byte* Row(int lane) const { return first + lane * row_bytes; }
};

// Interleaves the lanes unit by unit; a unit is a value or a pair of values. at(byte) returns the
// address of a byte of the panel.
template <typename Unit, typename At>
void PackUnits(const Lanes& rows, int64_t units, const At& at) {
  for (int64_t i = 0; i < units; ++i) {
    std::byte* const to = at(i * kPanel * static_cast<int64_t>(sizeof(Unit)));
    for (int lane = 0; lane < rows.count; ++lane) {
      std::memcpy(to + lane * sizeof(Unit), rows.Row(lane) + i * sizeof(Unit), sizeof(Unit));
    }
  }
}

template <typename At>
void PackPlain(Format f, int64_t cols, const Lanes& rows, const At& at) {
  if (f == Format::kF32) return PackUnits<uint32_t>(rows, cols, at);
  if (f == Format::kF16) return PackUnits<uint16_t>(rows, cols, at);
  PackUnits<uint32_t>(rows, cols / 2, at);
  if (cols % 2 == 0) return;
  for (int lane = 0; lane < rows.count; ++lane) {
    StoreU16(at(PlainOffset(f, cols - 1, lane)), LoadU16(rows.Row(lane) + 2 * (cols - 1)));
  }
}

// The 6-bit scale (offset 0) or minimum (offset 4) of sub-block s of Q4_K and Q5_K; k_formats.cc
// shows the layout.
uint8_t SubScale(const std::byte* from, int s, int offset) {
  if (s < 4) return ByteAt(from, s + offset) & 63;
  const int low = ByteAt(from, s + 4) >> offset & 15;
  return static_cast<uint8_t>(low | ByteAt(from, s - 4 + offset) >> 6 << 4);
}

// Packs the scales and minima of a block of the file, in K formats including its sub-blocks'.
FT_INLINE void PutScales(const FormatTraits& traits, const std::byte* block, int lane,
                         std::byte* to) {
  if (traits.format == Format::kQ6_K) {
    StoreU16(to + 2 * lane, LoadU16(block + 208));
    for (int s = 0; s < 16; ++s) to[32 + 16 * s + lane] = block[192 + s];
    return;
  }
  StoreU16(to + 2 * lane, LoadU16(block));
  if (traits.has_minimum) StoreU16(to + 32 + 2 * lane, LoadU16(block + 2));
  for (int s = 0; traits.super && s < kGroupBlocks; ++s) {
    to[64 + 32 * s + lane] = static_cast<std::byte>(SubScale(block + 4, s, 0));
    to[80 + 32 * s + lane] = static_cast<std::byte>(SubScale(block + 4, s, 4));
  }
}

// Instantiated for each format: a switch on the format in every block made loading a model a third
// slower.
template <Format kFormat>
void PackBlocks(const PanelLayout& layout, int64_t cols, const Lanes& rows, std::byte* panel) {
  constexpr FormatTraits traits = kTraitsOf<kFormat>;
  const auto bytes = static_cast<int64_t>(BlockBytes(traits.type));
  constexpr int64_t blocks_per_file_block =
      traits.super ? kGroupBlocks : 1;  // blocks of a panel in a block of the file
  for (int64_t b = 0; b < cols / kBlock; ++b) {
    const auto sub = static_cast<int>(b % blocks_per_file_block);
    const BlockPlace place = PlaceOf(layout, cols / kBlock, b);
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* block = rows.Row(lane) + b / blocks_per_file_block * bytes;
      PutCodes(traits.bits, ReadCodes(traits.format, block, sub), lane, panel + place.codes,
               panel + place.high);
      if (sub == 0) PutScales(traits, block, lane, panel + place.scales);
    }
  }
}

template <int... kFormat>
void PackQuantised(Format f, const PanelLayout& layout, int64_t cols, const Lanes& rows,
                   std::byte* panel, std::integer_sequence<int, kFormat...>) {
  ((static_cast<int>(f) == kFormat
        ? PackBlocks<static_cast<Format>(kFormat)>(layout, cols, rows, panel)
        : void()),
   ...);
}

// The conversion of 16 codes to values: value = scale * (code - zero) + minimum, in Dequantize's
// order.
struct Affine {
  float scale = 0, minimum = 0;
  int zero = 0;
  bool has_minimum = false;
};

// The conversion of a lane's codes [16 * sixteenth, 16 * (sixteenth + 1)) of a group. `scales`:
// those of their block or, in K formats, of the group.
Affine AffineOf(const FormatTraits& traits, const std::byte* scales, int sixteenth, int lane) {
  const float d = HalfAt(scales + 2 * lane);
  const float m = traits.has_minimum ? HalfAt(scales + 32 + 2 * lane) : 0;
  if (!traits.super) return {d, m, traits.zero, traits.has_minimum};
  if (traits.format == Format::kQ6_K) {
    const auto sub = static_cast<int8_t>(scales[32 + 16 * sixteenth + lane]);
    return {d * static_cast<float>(sub), 0, traits.zero, false};
  }
  const std::byte* sub = scales + 64 + sixteenth / 2 * 32 + lane;
  const float minimum = m * static_cast<float>(ByteAt(sub, 16));
  return {d * static_cast<float>(ByteAt(sub, 0)), -minimum, traits.zero, true};
}

float Value(const Affine& affine, uint8_t code) {
  const float product = affine.scale * static_cast<float>(code - affine.zero);
  return affine.has_minimum ? product + affine.minimum : product;
}

template <typename At>
void UnpackPlainLane(Format f, int64_t cols, const At& at, int lane, float* out) {
  for (int64_t i = 0; i < cols; ++i) {
    Dequantize(TraitsOf(f).type, at(PlainOffset(f, i, lane)), {out + i, 1});
  }
}

}  // namespace

std::optional<Format> FormatOf(DType type) {
  for (const FormatTraits& traits : kFormatTraits) {
    if (traits.type == type) return traits.format;
  }
  return std::nullopt;
}

PanelLayout LayoutOf(Format f, int64_t cols, int interleaved_panels) {
  const FormatTraits& traits = TraitsOf(f);
  PanelLayout layout;
  if (!traits.quantised()) {
    layout.panel_bytes = (cols + cols % 2) * kPanel * PlainBytes(f);
    layout.together = interleaved_panels;
    layout.slab_bytes = kSlabBytes;
    return layout;
  }
  layout.super = traits.super;
  layout.code_bytes = traits.code_bytes();
  layout.high_bytes = traits.high_bytes();
  layout.scale_bytes = traits.scale_bytes();
  const int64_t rest = cols / kBlock % kGroupBlocks;
  layout.panel_bytes = cols / kSuper * layout.GroupBytes(kGroupBlocks);
  if (rest != 0) layout.panel_bytes += layout.GroupBytes(rest);
  return layout;
}

void PackPanel(Format f, const PanelLayout& layout, int64_t cols, const std::byte* rows,
               int64_t row_bytes, int count, std::byte* panels, int64_t panel) {
  const Lanes lanes{rows, row_bytes, count};
  const auto at = [&](int64_t byte) { return panels + layout.At(panel, byte); };
  if (!TraitsOf(f).quantised()) return PackPlain(f, cols, lanes, at);
  PackQuantised(f, layout, cols, lanes, at(0),
                std::make_integer_sequence<int, kQuantisedFormats>());
}

void UnpackLane(Format f, const PanelLayout& layout, int64_t cols, const std::byte* panels,
                int64_t panel, int lane, float* out) {
  const auto at = [&](int64_t byte) { return panels + layout.At(panel, byte); };
  const FormatTraits& traits = TraitsOf(f);
  if (!traits.quantised()) return UnpackPlainLane(f, cols, at, lane, out);
  const std::byte* const first = at(0);
  for (int64_t i = 0; i < cols; i += 16) {
    const BlockPlace place = PlaceOf(layout, cols / kBlock, i / kBlock);
    const BlockCodes codes = GetCodes(traits.bits, lane, first + place.codes, first + place.high);
    const Affine affine =
        AffineOf(traits, first + place.scales, static_cast<int>(i % kSuper / 16), lane);
    for (int j = 0; j < 16; ++j) out[i + j] = Value(affine, codes[i % kBlock + j]);
  }
}

}  // namespace foretoken
