// Weights times activation tiles, for every weight format, written once over vec.h.
//
// An output is summed block after block: acc = fma(float(integer dot), d * activation scale, acc),
// then its minimum's term. Integer dots are exact, so quantised formats give the same bits on every
// instruction set and for every number of rows in a tile.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/vec.h"
#include "backend/cpu/weight_codes.h"

namespace foretoken::FT_ISA {

// How far ahead of its use memory is asked for: what a core reads in the time that one access
// takes.
inline constexpr int64_t kAhead = 4096;
// Rows whose sums over a block are kept in registers.
inline constexpr int kRowsTogether = kNative == 16 ? 16 : 4;
// Panels multiplied with R rows at a time.
constexpr int PanelsTogether(int rows) {
  if (kNative < 16) return rows == 1 ? 4 : 1;
  return rows <= 4 ? 4 : rows <= 8 ? 2 : 1;
}

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

// Where a panel's planes continue.
struct PanelAt {
  const std::byte *codes, *high, *scales;
};

// Sums of rows kFirst and on of a tile of R for a block, or a half of one, of P panels.
// Group by group, the panels in turn: so the sums are independent chains, and the reads of all
// panels are under way together. With one panel after the other a core reads a third less a second.
template <Format kFormat, int R, int kFirst, int P>
FT_INLINE void DotRows(const LinearCall& c, const PanelAt& at, TileBlock<R> tile, int half,
                       I dot[P][R]) {
  using Format_ = Codes<kFormat>;
  constexpr bool kSigned = Format_::kWideCodes && kSignedBytesOnly;
  constexpr int kGroups = 8 / Format_::kHalves;
  constexpr int kEnd = R - kFirst < kRowsTogether ? R : kFirst + kRowsTogether;
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    FT_UNROLL(16)
    for (int r = kFirst; r < kEnd; ++r) {
      dot[p][r] = Splat(kSigned ? 0 : Format_::Start(tile, r, half));
    }
  }
  FT_UNROLL(8)
  for (int i = 0; i < kGroups; ++i) {
    const int g = half * kGroups + i;
    FT_UNROLL(8)
    for (int p = 0; p < P; ++p) {
      const int64_t skip = p * c.layout.panel_bytes;
      const I w = Format_::Group(at.codes + skip, at.high + skip, g);
      FT_UNROLL(16)
      for (int r = kFirst; r < kEnd; ++r) {
        const int32_t four = tile.Four(r, g);
        dot[p][r] = kSigned ? Dot4Signed(dot[p][r], w ^ Splat(-0x7f7f7f80), four)
                            : Dot4(dot[p][r], w, four);
      }
    }
  }
  if constexpr (kEnd < R) DotRows<kFormat, R, kEnd, P>(c, at, tile, half, dot);
}

// Adds a block of P panels to the sums of R rows.
template <Format kFormat, int R, int P>
FT_INLINE void AddBlock(const LinearCall& c, const PanelAt& at, int sub, TileBlock<R> tile,
                        const F d[P], F acc[P][R]) {
  using Format_ = Codes<kFormat>;
  FT_UNROLL(2)
  for (int half = 0; half < Format_::kHalves; ++half) {
    I dot[P][R];
    DotRows<kFormat, R, 0, P>(c, at, tile, half, dot);
    FT_UNROLL(8)
    for (int p = 0; p < P; ++p) {
      const F scale = Format_::Scale(d[p], at.scales + p * c.layout.panel_bytes, sub, half);
      FT_UNROLL(16)
      for (int r = 0; r < R; ++r) {
        acc[p][r] = Fma(ToF(dot[p][r]), scale * Splat(tile.Scale(r)), acc[p][r]);
      }
    }
  }
  if constexpr (Format_::kMinimum) {
    FT_UNROLL(8)
    for (int p = 0; p < P; ++p) {
      const F minimum = Format_::Minimum(at.scales + p * c.layout.panel_bytes, sub);
      FT_UNROLL(16)
      for (int r = 0; r < R; ++r) acc[p][r] = Fma(minimum, Splat(tile.ScaledSum(r)), acc[p][r]);
    }
  }
}

template <Format kFormat, int R, int P>
void LinearPanels(const LinearCall& c, int64_t panel) {
  constexpr int kPerScale = Codes<kFormat>::kBlocksPerScale;
  const std::byte* begin = c.panels + panel * c.layout.panel_bytes;
  PanelAt at{begin, begin + c.layout.high_begin, begin + c.layout.scale_begin};
  TileBlock<R> tile{c.tile};
  F acc[P][R];
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[p][r] = Zero();
  }
  for (int64_t scale = 0; scale < c.cols / (kBlock * kPerScale); ++scale) {
    F d[P];
    FT_UNROLL(8)
    for (int p = 0; p < P; ++p) d[p] = LoadHalf(at.scales + p * c.layout.panel_bytes);
    for (int sub = 0; sub < kPerScale; ++sub) {
      if constexpr (P <= 2 && kNative == 16) {
        FT_UNROLL(2)
        for (int p = 0; p < P; ++p) {
          Prefetch(at.codes + p * c.layout.panel_bytes + kAhead, Codes<kFormat>::kCodeBytes);
        }
      }
      AddBlock<kFormat, R, P>(c, at, sub, tile, d, acc);
      at.codes += c.layout.code_bytes;
      at.high += c.layout.high_bytes;
      tile.at += TileBlock<R>::kBytes;
    }
    at.scales += c.layout.scale_bytes;
  }
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, panel + p, acc[p]);
}

template <Format kFormat, int R>
void LinearBlocks(const LinearCall& c) {
  constexpr int kTogether = PanelsTogether(R);
  int64_t panel = c.panel_begin;
  for (; panel + kTogether <= c.panel_end; panel += kTogether) {
    LinearPanels<kFormat, R, kTogether>(c, panel);
  }
  for (; panel < c.panel_end; ++panel) LinearPanels<kFormat, R, 1>(c, panel);
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
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[p][r] = Zero();
  }
  for (int64_t s = 0; s < steps; ++s) {
    typename S::Weights weights[P];
    FT_UNROLL(8)
    for (int p = 0; p < P; ++p) __builtin_prefetch(w + p * c.layout.panel_bytes + kAhead / P);
    FT_UNROLL(8)
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
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, panel + p, acc[p]);
}

// Several panels at a time keep enough additions in flight when rows are few.
template <Format kFormat, int R>
void LinearFloat(const LinearCall& c) {
  constexpr int kTogether = R <= 4 ? 4 : R <= 12 ? 2 : 1;
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

// Not inline: one file an instruction set holds it.
void FillLinear(Kernels& k) {  // NOLINT(misc-definitions-in-headers)
  k.bf16_tile = kBf16Tile;
  FillFormats(k, Indices<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10>{});
}

}  // namespace foretoken::FT_ISA
