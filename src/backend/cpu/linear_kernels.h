// Weights times activation tiles, for every weight format, written once over vec.h.
//
// An output is summed block after block: acc = fma(float(integer dot), d * activation scale, acc),
// then its minimum's term. Integer dots are exact, so quantised formats give the same bits on every
// instruction set and for every number of rows in a tile.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/vec.h"

namespace foretoken::FT_ISA {

// How far ahead of its use memory is asked for: what a core reads in the time that one access
// takes.
inline constexpr int64_t kAhead = 8192;

// How a format turns a block's bytes into 8 groups of codes, and what its codes stand for.
template <Format>
struct Codes;

FT_INLINE void UnpackNibbles(const std::byte* codes, I w[8]) {
  const I mask = Splat(0x0f0f0f0f);
  FT_UNROLL(4)
  for (int g = 0; g < 4; ++g) {
    const I both = LoadI(codes + 64 * g);
    w[g] = both & mask;
    w[g + 4] = ShiftRight(both, 4) & mask;
  }
}

FT_INLINE void UnpackFiveBits(const std::byte* codes, const std::byte* high, I w[8]) {
  UnpackNibbles(codes, w);
  const I bits = LoadI(high), mask = Splat(0x10101010);
  FT_UNROLL(8)
  for (int g = 0; g < 8; ++g) {
    w[g] = w[g] | ((g < 4 ? ShiftLeft(bits, 4 - g) : ShiftRight(bits, g - 4)) & mask);
  }
}

template <>
struct Codes<Format::kQ8_0> {
  static constexpr int64_t kCodeBytes = 512;
  static constexpr int kZeroShift = 7;
  static constexpr bool kMinimum = false;
  FT_INLINE static void Unpack(const std::byte* codes, const std::byte*, I w[8]) {
    FT_UNROLL(8)
    for (int g = 0; g < 8; ++g) w[g] = LoadI(codes + 64 * g);
  }
};
template <>
struct Codes<Format::kQ4_0> {
  static constexpr int64_t kCodeBytes = 256;
  static constexpr int kZeroShift = 3;
  static constexpr bool kMinimum = false;
  FT_INLINE static void Unpack(const std::byte* codes, const std::byte*, I w[8]) {
    UnpackNibbles(codes, w);
  }
};
template <>
struct Codes<Format::kQ4_1> : Codes<Format::kQ4_0> {
  static constexpr bool kMinimum = true;
};
template <>
struct Codes<Format::kQ4_K> : Codes<Format::kQ4_1> {};
template <>
struct Codes<Format::kQ5_0> {
  static constexpr int64_t kCodeBytes = 256;
  static constexpr int kZeroShift = 4;
  static constexpr bool kMinimum = false;
  FT_INLINE static void Unpack(const std::byte* codes, const std::byte* high, I w[8]) {
    UnpackFiveBits(codes, high, w);
  }
};
template <>
struct Codes<Format::kQ5_1> : Codes<Format::kQ5_0> {
  static constexpr bool kMinimum = true;
};
template <>
struct Codes<Format::kQ5_K> : Codes<Format::kQ5_1> {};
template <>
struct Codes<Format::kQ6_K> {
  static constexpr int64_t kCodeBytes = 256;
  FT_INLINE static void Unpack(const std::byte* codes, const std::byte* high, I w[8]) {
    UnpackNibbles(codes, w);
    const I mask = Splat(0x30303030);
    const I bits[2] = {LoadI(high), LoadI(high + 64)};
    FT_UNROLL(8)
    for (int g = 0; g < 8; ++g) {
      const int at = 2 * (g % 4);
      const I two = at <= 4 ? ShiftLeft(bits[g / 4], 4 - at) : ShiftRight(bits[g / 4], at - 4);
      w[g] = w[g] | (two & mask);
    }
  }
};

// A block of an int8 tile of R rows.
template <int R>
struct TileBlock {
  const std::byte* at;
  static constexpr int64_t kBytes = R * kTileBlockBytes;

  int32_t Four(int row, int group) const {
    int32_t four;
    __builtin_memcpy(&four, at + row * kBlock + 4 * group, 4);
    return four;
  }
  float Scale(int row) const { return Float(row); }
  float ScaledSum(int row) const { return Float(R + row); }
  // -sum << kShift
  template <int kShift>
  int32_t MinusZeros(int row) const {
    return Int((kShift == 3 ? 2 : kShift == 4 ? 3 : 4) * R + row);
  }
  int32_t MinusZerosOfHalf(int row, int half) const { return Int((5 + half) * R + row); }

 private:
  float Float(int i) const {
    float x;
    __builtin_memcpy(&x, at + R * kBlock + 4 * i, 4);
    return x;
  }
  int32_t Int(int i) const {
    int32_t x;
    __builtin_memcpy(&x, at + R * kBlock + 4 * i, 4);
    return x;
  }
};

template <int R>
FT_INLINE void StorePanel(const LinearCall& c, int64_t panel, const F acc[R]) {
  const int64_t n = c.outputs - panel * kPanel;
  const F bias = c.bias != nullptr ? LoadFirst(c.bias + panel * kPanel, n) : Zero();
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    if (r >= c.rows) break;
    float* out = c.out + r * c.out_stride + panel * kPanel;
    F sum = acc[r];
    if (c.accumulate) sum = LoadFirst(out, n) + sum;
    if (c.bias != nullptr) sum = sum + bias;
    StoreFirst(sum, out, n);
  }
}

// Sums of all groups of one row's block, from `start`.
template <int R>
FT_INLINE I DotGroups(I start, const I w[8], TileBlock<R> tile, int row, int begin, int end) {
  I other = Splat(0);
  FT_UNROLL(8)
  for (int g = begin; g < end; g += 2) {
    start = Dot4(start, w[g], tile.Four(row, g));
    other = Dot4(other, w[g + 1], tile.Four(row, g + 1));
  }
  return start + other;
}

// The whole block: sum of (code - zero) * activation, or of code * activation where minima say the
// rest.
template <typename Format_, int R>
FT_INLINE I DotBlock(const I w[8], TileBlock<R> tile, int row) {
  if constexpr (Format_::kMinimum) return DotGroups<R>(Splat(0), w, tile, row, 0, 8);
  if constexpr (Format_::kZeroShift == 7 && kSignedBytesOnly) {
    I dot = Splat(0);
    FT_UNROLL(8)
    for (int g = 0; g < 8; ++g) dot = Dot4Signed(dot, w[g] ^ Splat(-0x7f7f7f80), tile.Four(row, g));
    return dot;
  }
  const I start = Splat(tile.template MinusZeros<Format_::kZeroShift>(row));
  return DotGroups<R>(start, w, tile, row, 0, 8);
}

// Where a panel's planes continue.
struct PanelAt {
  const std::byte *codes, *high, *scales;

  PanelAt(const LinearCall& c, int64_t panel)
      : codes(c.panels + panel * c.layout.panel_bytes),
        high(codes + c.layout.high_begin),
        scales(codes + c.layout.scale_begin) {}
};

// One block of a panel times R rows.
template <Format kFormat, int R>
FT_INLINE void AddBlock(const PanelAt& at, TileBlock<R> tile, F acc[R]) {
  using Format_ = Codes<kFormat>;
  I w[8];
  Format_::Unpack(at.codes, at.high, w);
  const F d = LoadHalf(at.scales);
  const F m = Format_::kMinimum ? LoadHalf(at.scales + 32) : Zero();
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    const I dot = DotBlock<Format_, R>(w, tile, r);
    acc[r] = Fma(ToF(dot), d * Splat(tile.Scale(r)), acc[r]);
    if (Format_::kMinimum) acc[r] = Fma(m, Splat(tile.ScaledSum(r)), acc[r]);
  }
}

template <Format kFormat, int R, int P>
void LinearBlocksPanels(const LinearCall& c, int64_t panel) {
  const int64_t blocks = c.cols / kBlock;
  const PanelAt first(c, panel);
  TileBlock<R> tile{c.tile};
  F acc[P][R];
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) {
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[p][r] = Zero();
  }
  PanelAt at = first;
  for (int64_t b = 0; b < blocks; ++b) {
    FT_UNROLL(4)
    for (int p = 0; p < P; ++p) {
      PanelAt here = at;
      here.codes += p * c.layout.panel_bytes;
      here.high += p * c.layout.panel_bytes;
      here.scales += p * c.layout.panel_bytes;
      if (P == 1) Prefetch(here.codes + kAhead, Codes<kFormat>::kCodeBytes);
      AddBlock<kFormat, R>(here, tile, acc[p]);
    }
    at.codes += c.layout.code_bytes;
    at.high += c.layout.high_bytes;
    at.scales += c.layout.scale_bytes;
    tile.at += TileBlock<R>::kBytes;
  }
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, panel + p, acc[p]);
}

template <Format kFormat, int R>
void LinearBlocks(const LinearCall& c) {
  constexpr int kTogether = R <= 4 ? 4 : 1;
  int64_t panel = c.panel_begin;
  for (; panel + kTogether <= c.panel_end; panel += kTogether) {
    LinearBlocksPanels<kFormat, R, kTogether>(c, panel);
  }
  for (; panel < c.panel_end; ++panel) LinearBlocksPanels<kFormat, R, 1>(c, panel);
}

// Q4_K and Q5_K: scales of a super-block are 16 d, 16 m, then 8 times 16 sub-scales and 16
// sub-minima.
template <Format kFormat, int R>
void LinearSuperMinimum(const LinearCall& c) {
  const int64_t supers = c.cols / kSuper;
  for (int64_t panel = c.panel_begin; panel < c.panel_end; ++panel) {
    const std::byte* codes = c.panels + panel * c.layout.panel_bytes;
    const std::byte* high = codes + c.layout.high_begin;
    const std::byte* scales = codes + c.layout.scale_begin;
    TileBlock<R> tile{c.tile};
    F acc[R];
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[r] = Zero();
    for (int64_t s = 0; s < supers; ++s) {
      const F d = LoadHalf(scales), m = LoadHalf(scales + 32);
      for (int b = 0; b < kSuper / kBlock; ++b) {
        Prefetch(codes + kAhead, Codes<kFormat>::kCodeBytes);
        I w[8];
        Codes<kFormat>::Unpack(codes, high, w);
        const F step = d * ToF(LoadU8(scales + 64 + 32 * b));
        const F shift = Zero() - m * ToF(LoadU8(scales + 80 + 32 * b));
        FT_UNROLL(16)
        for (int r = 0; r < R; ++r) {
          const I dot = DotGroups<R>(Splat(0), w, tile, r, 0, 8);
          acc[r] = Fma(ToF(dot), step * Splat(tile.Scale(r)), acc[r]);
          acc[r] = Fma(shift, Splat(tile.ScaledSum(r)), acc[r]);
        }
        codes += c.layout.code_bytes;
        high += c.layout.high_bytes;
        tile.at += TileBlock<R>::kBytes;
      }
      scales += c.layout.scale_bytes;
    }
    StorePanel<R>(c, panel, acc);
  }
}

// Q6_K: scales of a super-block are 16 d, then 16 times 16 signed sub-scales, one per 16 inputs.
template <Format kFormat, int R>
void LinearSuperHalves(const LinearCall& c) {
  const int64_t supers = c.cols / kSuper;
  for (int64_t panel = c.panel_begin; panel < c.panel_end; ++panel) {
    const std::byte* codes = c.panels + panel * c.layout.panel_bytes;
    const std::byte* high = codes + c.layout.high_begin;
    const std::byte* scales = codes + c.layout.scale_begin;
    TileBlock<R> tile{c.tile};
    F acc[R];
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[r] = Zero();
    for (int64_t s = 0; s < supers; ++s) {
      const F d = LoadHalf(scales);
      for (int b = 0; b < kSuper / kBlock; ++b) {
        Prefetch(codes + kAhead, Codes<kFormat>::kCodeBytes);
        I w[8];
        Codes<kFormat>::Unpack(codes, high, w);
        const F first = d * ToF(LoadS8(scales + 32 + 32 * b));
        const F second = d * ToF(LoadS8(scales + 48 + 32 * b));
        FT_UNROLL(16)
        for (int r = 0; r < R; ++r) {
          const I lower = DotGroups<R>(Splat(tile.MinusZerosOfHalf(r, 0)), w, tile, r, 0, 4);
          const I upper = DotGroups<R>(Splat(tile.MinusZerosOfHalf(r, 1)), w, tile, r, 4, 8);
          const F scale = Splat(tile.Scale(r));
          acc[r] = Fma(ToF(lower), first * scale, acc[r]);
          acc[r] = Fma(ToF(upper), second * scale, acc[r]);
        }
        codes += c.layout.code_bytes;
        high += c.layout.high_bytes;
        tile.at += TileBlock<R>::kBytes;
      }
      scales += c.layout.scale_bytes;
    }
    StorePanel<R>(c, panel, acc);
  }
}

// Unquantised formats: a step is one input, of BF16 two.
template <Format>
struct Step;

template <>
struct Step<Format::kF32> {
  static constexpr int kInputs = 1, kWeightBytes = 64, kTileBytes = 4;
  using Weights = F;
  FT_INLINE static Weights LoadWeights(const std::byte* p) { return AsF(LoadI(p)); }
  template <int R>
  FT_INLINE static F Add(Weights w, const std::byte* x, int row, F acc) {
    float value;
    __builtin_memcpy(&value, x + 4 * row, 4);
    return MulAdd(w, Splat(value), acc);
  }
};

template <>
struct Step<Format::kF16> : Step<Format::kF32> {
  static constexpr int kWeightBytes = 32;
  FT_INLINE static Weights LoadWeights(const std::byte* p) { return LoadHalf(p); }
};

#if defined(__AVX512BF16__)
inline constexpr TileKind kBf16Tile = TileKind::kBf16Pairs;

template <>
struct Step<Format::kBF16> {
  static constexpr int kInputs = 2, kWeightBytes = 64, kTileBytes = 4;
  using Weights = I;
  FT_INLINE static Weights LoadWeights(const std::byte* p) { return LoadI(p); }
  template <int R>
  FT_INLINE static F Add(Weights w, const std::byte* x, int row, F acc) {
    int32_t pair;
    __builtin_memcpy(&pair, x + 4 * row, 4);
    acc.v[0] = _mm512_dpbf16_ps(acc.v[0], reinterpret_cast<__m512bh>(w.v[0]),
                                reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair)));
    return acc;
  }
};
#else
inline constexpr TileKind kBf16Tile = TileKind::kF32;

// Without an instruction for pairs the weights are widened and the activations stay whole.
template <>
struct Step<Format::kBF16> {
  static constexpr int kInputs = 2, kWeightBytes = 64, kTileBytes = 8;
  using Weights = I;
  FT_INLINE static Weights LoadWeights(const std::byte* p) { return LoadI(p); }
  template <int R>
  FT_INLINE static F Add(Weights w, const std::byte* x, int row, F acc) {
    float even, odd;
    __builtin_memcpy(&even, x + 4 * row, 4);
    __builtin_memcpy(&odd, x + 4 * (R + row), 4);
    acc = MulAdd(AsF(ShiftLeft(w, 16)), Splat(even), acc);
    return MulAdd(AsF(w & Splat(-65536)), Splat(odd), acc);
  }
};
#endif

template <Format kFormat, int R, int P>
void LinearFloatPanels(const LinearCall& c, int64_t panel) {
  using S = Step<kFormat>;
  const int64_t steps = (c.cols + S::kInputs - 1) / S::kInputs;
  const std::byte* w = c.panels + panel * c.layout.panel_bytes;
  const std::byte* x = c.tile;
  F acc[P][R];
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) {
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[p][r] = Zero();
  }
  for (int64_t s = 0; s < steps; ++s) {
    typename S::Weights weights[P];
    FT_UNROLL(4)
    for (int p = 0; p < P; ++p) __builtin_prefetch(w + p * c.layout.panel_bytes + kAhead / P);
    FT_UNROLL(4)
    for (int p = 0; p < P; ++p) weights[p] = S::LoadWeights(w + p * c.layout.panel_bytes);
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      FT_UNROLL(4)
      for (int p = 0; p < P; ++p) {
        acc[p][r] = S::template Add<R>(weights[p], x, r, acc[p][r]);
      }
    }
    w += S::kWeightBytes;
    x += R * S::kTileBytes;
  }
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, panel + p, acc[p]);
}

// Several panels at a time keep enough additions in flight when rows are few.
template <Format kFormat, int R>
void LinearFloat(const LinearCall& c) {
  constexpr int kTogether = R <= 6 ? 4 : R <= 12 ? 2 : 1;
  int64_t panel = c.panel_begin;
  for (; panel + kTogether <= c.panel_end; panel += kTogether) {
    LinearFloatPanels<kFormat, R, kTogether>(c, panel);
  }
  for (; panel < c.panel_end; ++panel) LinearFloatPanels<kFormat, R, 1>(c, panel);
}

template <int... kIndex>
struct Indices {};

template <Format kFormat, int R>
constexpr void (*LinearOf())(const LinearCall&) {
  if constexpr (kFormat >= Format::kF32) {
    return &LinearFloat<kFormat, R>;
  } else if constexpr (kFormat == Format::kQ6_K) {
    return &LinearSuperHalves<kFormat, R>;
  } else if constexpr (kFormat == Format::kQ4_K || kFormat == Format::kQ5_K) {
    return &LinearSuperMinimum<kFormat, R>;
  } else {
    return &LinearBlocks<kFormat, R>;
  }
}

template <Format kFormat, int... kStep>
void FillFormat(Kernels& k, Indices<kStep...>) {
  ((k.linear[static_cast<int>(kFormat)][kStep] = LinearOf<kFormat, kTileRows[kStep]>()), ...);
}

template <int... kFormat>
void FillFormats(Kernels& k, Indices<kFormat...>) {
  (FillFormat<static_cast<Format>(kFormat)>(k, Indices<0, 1, 2, 3, 4, 5>{}), ...);
}

void FillLinear(Kernels& k) {
  k.bf16_tile = kBf16Tile;
  FillFormats(k, Indices<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10>{});
}

}  // namespace foretoken::FT_ISA
