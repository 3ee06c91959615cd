#include "backend/cpu/pack/panel_format.h"

#include <algorithm>
#include <cstring>

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

bool IsSuper(Format f) { return f == Format::kQ4_K || f == Format::kQ5_K || f == Format::kQ6_K; }
bool IsPlain(Format f) { return f >= Format::kF32; }
bool HasFiveBits(Format f) {
  return f == Format::kQ5_0 || f == Format::kQ5_1 || f == Format::kQ5_K;
}

// Bytes of a lane's number in an unquantised panel.
int64_t PlainBytes(Format f) { return f == Format::kF32 ? 4 : 2; }

// Of an unquantised panel at a time, where four take turns: 16 KiB and the activations beside them
// stay in the first cache.
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
  std::array<uint8_t, 16> both;
  for (int i = 0; i < 16; ++i) both[i] = (codes[i] & 15) | codes[i + 16] << 4;
  for (int g = 0; g < 4; ++g) std::memcpy(at + 64 * g + 4 * lane, both.data() + 4 * g, 4);
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
void PutCodes(Format f, const BlockCodes& codes, int lane, std::byte* low, std::byte* high) {
  if (f == Format::kQ8_0) return PutBytes(codes, lane, low);
  PutNibbles(codes, lane, low);
  if (HasFiveBits(f)) PutFifthBits(codes, lane, high);
  if (f == Format::kQ6_K) PutTopPairs(codes, lane, high);
}

BlockCodes GetCodes(Format f, int lane, const std::byte* low, const std::byte* high) {
  BlockCodes codes;
  for (int i = 0; i < kBlock; ++i) {
    const int g = i / 4, at = 4 * lane + i % 4;
    if (f == Format::kQ8_0) {
      codes[i] = ByteAt(low, 64 * g + at);
      continue;
    }
    codes[i] = ByteAt(low, 64 * (g % 4) + at) >> (g < 4 ? 0 : 4) & 15;
    if (HasFiveBits(f)) codes[i] |= (ByteAt(high, at) >> g & 1) << 4;
    if (f == Format::kQ6_K) codes[i] |= (ByteAt(high, 64 * (g / 4) + at) >> 2 * (g % 4) & 3) << 4;
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
// Sub-block s of a K format: two sub-blocks share 32 bytes of nibbles.
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

// --- Whole panels.

// Where the parts of a block lie: its offsets in a panel of `blocks` blocks.
struct BlockPlace {
  int64_t codes, high, scales;  // scales: of K formats, those of the group
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

// Numbers, or pairs of them, side by side. at(byte) is where a byte of the panel lies.
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

BlockCodes ReadBlock(Format f, const std::byte* block) {
  switch (f) {
    case Format::kQ8_0:
      return ReadBytes(block + 2);
    case Format::kQ4_0:
      return ReadNibbles(block + 2);
    case Format::kQ4_1:
      return ReadNibbles(block + 4);
    case Format::kQ5_0:
      return ReadFiveBits(block + 2);
    default:
      return ReadFiveBits(block + 4);
  }
}

void PackBlocks(Format f, const PanelLayout& layout, int64_t cols, const Lanes& rows,
                std::byte* panel) {
  const int64_t bytes = (layout.code_bytes + layout.high_bytes + layout.scale_bytes) / kPanel;
  for (int64_t b = 0; b < cols / kBlock; ++b) {
    const BlockPlace place = PlaceOf(layout, cols / kBlock, b);
    std::byte* scales = panel + place.scales;
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* block = rows.Row(lane) + b * bytes;
      PutCodes(f, ReadBlock(f, block), lane, panel + place.codes, panel + place.high);
      StoreU16(scales + 2 * lane, LoadU16(block));
      if (layout.scale_bytes == 64) StoreU16(scales + 32 + 2 * lane, LoadU16(block + 2));
    }
  }
}

// The 6-bit scale or minimum (offset 4) of sub-block s of Q4_K and Q5_K; k_formats.cc has the
// picture.
uint8_t SubScale(const std::byte* from, int s, int offset) {
  if (s < 4) return ByteAt(from, s + offset) & 63;
  const int low = ByteAt(from, s + 4) >> offset & 15;
  return static_cast<uint8_t>(low | ByteAt(from, s - 4 + offset) >> 6 << 4);
}

BlockCodes ReadSuperBlock(Format f, const std::byte* block, int s) {
  if (f == Format::kQ4_K) return ReadSharedNibbles(block + 16, s);
  return f == Format::kQ5_K ? ReadQ5_K(block, s) : ReadQ6_K(block, s);
}

void PutSuperScales(Format f, const std::byte* block, int lane, std::byte* to) {
  if (f == Format::kQ6_K) {
    StoreU16(to + 2 * lane, LoadU16(block + 208));
    for (int s = 0; s < 16; ++s) to[32 + 16 * s + lane] = block[192 + s];
    return;
  }
  StoreU16(to + 2 * lane, LoadU16(block));
  StoreU16(to + 32 + 2 * lane, LoadU16(block + 2));
  for (int s = 0; s < kGroupBlocks; ++s) {
    to[64 + 32 * s + lane] = static_cast<std::byte>(SubScale(block + 4, s, 0));
    to[80 + 32 * s + lane] = static_cast<std::byte>(SubScale(block + 4, s, 4));
  }
}

void PackSupers(Format f, const PanelLayout& layout, int64_t cols, const Lanes& rows,
                std::byte* panel) {
  const int64_t bytes = f == Format::kQ4_K ? 144 : f == Format::kQ5_K ? 176 : 210;
  for (int64_t b = 0; b < cols / kBlock; ++b) {
    const int64_t super = b / kGroupBlocks;
    const BlockPlace place = PlaceOf(layout, cols / kBlock, b);
    for (int lane = 0; lane < rows.count; ++lane) {
      const std::byte* block = rows.Row(lane) + super * bytes;
      PutCodes(f, ReadSuperBlock(f, block, static_cast<int>(b % kGroupBlocks)), lane,
               panel + place.codes, panel + place.high);
      if (b % kGroupBlocks == 0) PutSuperScales(f, block, lane, panel + place.scales);
    }
  }
}

// What turns 16 codes into values: value = scale * (code - zero) + minimum, in Dequantize's order.
struct Affine {
  float scale = 0, minimum = 0;
  int zero = 0;
  bool has_minimum = false;
};

Affine BlockAffine(Format f, const std::byte* scale, int lane) {
  const float d = HalfAt(scale + 2 * lane);
  if (f == Format::kQ4_1 || f == Format::kQ5_1) return {d, HalfAt(scale + 32 + 2 * lane), 0, true};
  return {d, 0, f == Format::kQ8_0 ? 128 : f == Format::kQ4_0 ? 8 : 16, false};
}

Affine SuperAffine(Format f, const std::byte* scale, int sixteenth, int lane) {
  const float d = HalfAt(scale + 2 * lane);
  if (f == Format::kQ6_K) {
    const auto sub = static_cast<int8_t>(scale[32 + 16 * sixteenth + lane]);
    return {d * static_cast<float>(sub), 0, 32, false};
  }
  const std::byte* sub = scale + 64 + sixteenth / 2 * 32 + lane;
  const float minimum = HalfAt(scale + 32 + 2 * lane) * static_cast<float>(ByteAt(sub, 16));
  return {d * static_cast<float>(ByteAt(sub, 0)), -minimum, 0, true};
}

float Value(const Affine& affine, uint8_t code) {
  const float product = affine.scale * static_cast<float>(code - affine.zero);
  return affine.has_minimum ? product + affine.minimum : product;
}

template <typename At>
void UnpackPlainLane(Format f, int64_t cols, const At& at, int lane, float* out) {
  const DType type = f == Format::kF32   ? DType::kF32
                     : f == Format::kF16 ? DType::kF16
                                         : DType::kBF16;
  for (int64_t i = 0; i < cols; ++i) Dequantize(type, at(PlainOffset(f, i, lane)), {out + i, 1});
}

}  // namespace

std::optional<Format> FormatOf(DType type) {
  switch (type) {
    case DType::kF32:
      return Format::kF32;
    case DType::kF16:
      return Format::kF16;
    case DType::kBF16:
      return Format::kBF16;
    case DType::kQ8_0:
      return Format::kQ8_0;
    case DType::kQ4_0:
      return Format::kQ4_0;
    case DType::kQ4_1:
      return Format::kQ4_1;
    case DType::kQ5_0:
      return Format::kQ5_0;
    case DType::kQ5_1:
      return Format::kQ5_1;
    case DType::kQ4_K:
      return Format::kQ4_K;
    case DType::kQ5_K:
      return Format::kQ5_K;
    case DType::kQ6_K:
      return Format::kQ6_K;
    case DType::kI32:
      return std::nullopt;
  }
  return std::nullopt;
}

PanelLayout LayoutOf(Format f, int64_t cols, int turns) {
  PanelLayout layout;
  if (IsPlain(f)) {
    layout.panel_bytes = (cols + cols % 2) * kPanel * PlainBytes(f);
    layout.together = turns;
    layout.slab_bytes = kSlabBytes;
    return layout;
  }
  layout.super = IsSuper(f);
  layout.code_bytes = f == Format::kQ8_0 ? 512 : 256;
  layout.high_bytes = HasFiveBits(f) ? 64 : f == Format::kQ6_K ? 128 : 0;
  const bool two = f == Format::kQ4_1 || f == Format::kQ5_1;
  layout.scale_bytes = f == Format::kQ6_K ? 288 : IsSuper(f) ? 320 : two ? 64 : 32;
  const int64_t rest = cols / kBlock % kGroupBlocks;
  layout.panel_bytes = cols / kSuper * layout.GroupBytes(kGroupBlocks);
  if (rest != 0) layout.panel_bytes += layout.GroupBytes(rest);
  return layout;
}

void PackPanel(Format f, const PanelLayout& layout, int64_t cols, const std::byte* rows,
               int64_t row_bytes, int count, std::byte* panels, int64_t panel) {
  const Lanes lanes{rows, row_bytes, count};
  const auto at = [&](int64_t byte) { return panels + layout.At(panel, byte); };
  if (IsPlain(f)) return PackPlain(f, cols, lanes, at);
  if (IsSuper(f)) return PackSupers(f, layout, cols, lanes, at(0));
  PackBlocks(f, layout, cols, lanes, at(0));
}

void UnpackLane(Format f, const PanelLayout& layout, int64_t cols, const std::byte* panels,
                int64_t panel, int lane, float* out) {
  const auto at = [&](int64_t byte) { return panels + layout.At(panel, byte); };
  if (IsPlain(f)) return UnpackPlainLane(f, cols, at, lane, out);
  const std::byte* const first = at(0);
  for (int64_t i = 0; i < cols; i += 16) {
    const BlockPlace place = PlaceOf(layout, cols / kBlock, i / kBlock);
    const BlockCodes codes = GetCodes(f, lane, first + place.codes, first + place.high);
    const std::byte* scales = first + place.scales;
    const Affine affine = IsSuper(f)
                              ? SuperAffine(f, scales, static_cast<int>(i % kSuper / 16), lane)
                              : BlockAffine(f, scales, lane);
    for (int j = 0; j < 16; ++j) out[i + j] = Value(affine, codes[i % kBlock + j]);
  }
}

}  // namespace foretoken
