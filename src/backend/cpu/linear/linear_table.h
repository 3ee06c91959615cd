// Products with unquantised weights, and the table of all products of an instruction set.
#pragma once

#include "backend/cpu/linear/linear_kernels.h"

namespace foretoken::FT_ISA {

// How one step of a product is loaded and multiplied. A step covers one input, or two if the
// weights are BF16.
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

// Without an instruction for bf16 pairs, weights are widened and activations are not rounded.
template <>
struct Step<Format::kBF16> {
  static constexpr int kInputs = 2, kWeightBytes = 64, kTileBytes = 8;
  using Weights = I;
  FT_INLINE static Weights LoadWeights(const std::byte* p) { return LoadI(p); }
  template <int R>
  FT_INLINE static F Add(Weights w, const std::byte* x, int row, F acc) {
    float even_input, odd_input;
    __builtin_memcpy(&even_input, x + 4 * row, 4);
    __builtin_memcpy(&odd_input, x + 4 * (R + row), 4);
    acc = MulAdd(AsF(ShiftLeft(w, 16)), Splat(even_input), acc);
    return MulAdd(AsF(w & Splat(-65536)), Splat(odd_input), acc);
  }
};
#endif

template <Format kFormat>
FT_INLINE int64_t StepsOf(const LinearCall& c) {
  return (c.cols + Step<kFormat>::kInputs - 1) / Step<kFormat>::kInputs;
}
// Bytes of a tile's chunk of R rows.
template <Format kFormat, int R>
FT_INLINE int64_t ChunkBytes(const LinearCall& c) {
  return (c.cols + c.cols % 2) / Step<kFormat>::kInputs * R * Step<kFormat>::kTileBytes;
}

// The number of steps between two lines that a chunk prefetches. The chunks that multiply the same
// weights each prefetch a share of the next weights. If the first chunk prefetched them all, it
// would wait for memory, and memory would be idle during the other chunks.
template <Format kFormat>
FT_INLINE int64_t StepsPerLine(const LinearCall& c) {
  return c.chunks * (64 / Step<kFormat>::kWeightBytes);
}
// A chunk's share of `bytes`, in whole cache lines.
FT_INLINE int64_t ShareOf(const LinearCall& c, int64_t bytes) { return bytes / c.chunks / 64 * 64; }

// Adds the products of `steps` steps of a panel to the sums of a chunk. Prefetches one line every
// `steps_per_line` steps, from `next` on; none if `steps_per_line` is 0.
template <Format kFormat, int R>
void AddSlab(const std::byte* w, const std::byte* x, int64_t steps, const std::byte* next,
             int64_t steps_per_line, F sums[R]) {
  using S = Step<kFormat>;
  F acc[R];
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) acc[r] = sums[r];
  const auto walk = [&](int64_t count) {
    for (int64_t s = 0; s < count; ++s) {
      const typename S::Weights weights = S::LoadWeights(w);
      FT_UNROLL(16)
      for (int r = 0; r < R; ++r) acc[r] = S::template Add<R>(weights, x, r, acc[r]);
      w += S::kWeightBytes;
      x += R * S::kTileBytes;
    }
  };
  if (steps_per_line == 0) {
    walk(steps);
  } else {
    for (int64_t s = 0; s < steps; s += steps_per_line) {
      __builtin_prefetch(next, 0, 2);
      next += 64;
      walk(s + steps_per_line < steps ? steps_per_line : steps - s);
    }
  }
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) sums[r] = acc[r];
}

// Prefetch distance for unquantised weights, in bytes; it is divided among the P streams.
inline constexpr int64_t kFloatAhead = 4096;

// Multiplies P panels, read as parallel streams, with one chunk.
template <Format kFormat, int R, int P>
void LinearFloatPanels(const LinearCall& c, int64_t panel, int chunk) {
  using S = Step<kFormat>;
  const int64_t steps = StepsOf<kFormat>(c);
  const std::byte* w = c.panels + panel * c.layout.panel_bytes;
  const std::byte* x = c.tile + chunk * ChunkBytes<kFormat, R>(c);
  F acc[P][R];
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) {
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[p][r] = Zero();
  }
  if constexpr (P == 1 && R == 16) {
    if (c.chunks > 1) {
      const std::byte* next = NextPanel(c, panel) + chunk * ShareOf(c, c.layout.panel_bytes);
      AddSlab<kFormat, R>(w, x, steps, next, StepsPerLine<kFormat>(c), acc[0]);
      return StorePanel<R>(c, chunk, panel, acc[0]);
    }
  }
  const auto step = [&] {
    typename S::Weights weights[P];
    FT_UNROLL(8)
    for (int p = 0; p < P; ++p) weights[p] = S::LoadWeights(w + p * c.layout.panel_bytes);
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      FT_UNROLL(8)
      for (int p = 0; p < P; ++p) {
        acc[p][r] = S::template Add<R>(weights[p], x, r, acc[p][r]);
      }
    }
    w += S::kWeightBytes;
    x += R * S::kTileBytes;
  };
  for (int64_t s = 0; s < steps; ++s) {
    // The hardware prefetcher follows a single stream, but is too late for sixteen rows.
    if constexpr (P > 1 || R == 16) {
      FT_UNROLL(8)
      for (int p = 0; p < P; ++p)
        __builtin_prefetch(w + p * c.layout.panel_bytes + kFloatAhead / P);
    }
    step();
  }
  FT_UNROLL(8)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, chunk, panel + p, acc[p]);
}

// Multiplies interleaved panels [begin, end) (PanelLayout::together), read as one stream: a slab of
// the first panel, a slab of the second, and so on. Each slab is multiplied with the part of the
// tile for its inputs. That part stays in the L1 cache: loading activations from L2 would disturb
// the hardware prefetcher.
template <Format kFormat, int R>
void LinearInterleaved(const LinearCall& c, int64_t begin, int64_t end) {
  using S = Step<kFormat>;
  const int64_t steps = StepsOf<kFormat>(c);
  const int64_t slab_steps = c.layout.slab_bytes / S::kWeightBytes;
  const int64_t chunk_bytes = ChunkBytes<kFormat, R>(c);
  // With up to four rows, the hardware prefetcher keeps up. With more, the next slab is prefetched
  // here.
  const int64_t steps_per_line = R <= 4 && c.chunks == 1 ? 0 : StepsPerLine<kFormat>(c);
  F sums[kMostTogether][MostChunks(R)][R];
  for (int64_t p = begin; p < end; ++p) {
    for (int k = 0; k < c.chunks; ++k) {
      for (int r = 0; r < R; ++r) sums[p - begin][k][r] = Zero();
    }
  }
  for (int64_t first = 0; first < steps; first += slab_steps) {
    const int64_t count = first + slab_steps < steps ? slab_steps : steps - first;
    const int64_t share = ShareOf(c, count * S::kWeightBytes);
    for (int64_t p = begin; p < end; ++p) {
      const std::byte* w = c.panels + c.layout.At(c.lead + p, first * S::kWeightBytes);
      const std::byte* next = w + count * S::kWeightBytes;
      const std::byte* x = c.tile + first * R * S::kTileBytes;
      for (int k = 0; k < c.chunks; ++k) {
        AddSlab<kFormat, R>(w, x + k * chunk_bytes, count, next + k * share, steps_per_line,
                            sums[p - begin][k]);
      }
    }
  }
  for (int64_t p = begin; p < end; ++p) {
    for (int k = 0; k < c.chunks; ++k) StorePanel<R>(c, k, p, sums[p - begin][k]);
  }
}

// The number of panels multiplied together. With few rows, several panels keep enough additions in
// flight and share each load of an activation.
constexpr int FloatPanelsTogether(int chunk_rows) {
  if (kNative < 16) return chunk_rows == 1 ? 4 : chunk_rows == 2 ? 2 : 1;
  return chunk_rows <= 4 ? 4 : chunk_rows <= 12 ? 2 : 1;
}

template <Format kFormat, int R>
void LinearFloat(const LinearCall& c) {
  int64_t panel = c.panel_begin;
  if (const int64_t interleaved = c.layout.together; interleaved > 1) {
    while (panel < c.panel_end) {
      const int64_t interleaved_end =
          (c.lead + panel) / interleaved * interleaved + interleaved - c.lead;
      const int64_t end = interleaved_end < c.panel_end ? interleaved_end : c.panel_end;
      LinearInterleaved<kFormat, R>(c, panel, end);
      panel = end;
    }
    return;
  }
  constexpr int kTogether = FloatPanelsTogether(R);
  for (; panel + kTogether <= c.panel_end; panel += kTogether) {
    for (int k = 0; k < c.chunks; ++k) LinearFloatPanels<kFormat, R, kTogether>(c, panel, k);
  }
  for (; panel < c.panel_end; ++panel) {
    for (int k = 0; k < c.chunks; ++k) LinearFloatPanels<kFormat, R, 1>(c, panel, k);
  }
}

template <Format kFormat, int R>
constexpr void (*FloatOf())(const LinearCall&) {
  if constexpr (R > kMostChunkRows && kNative < 16) {
    return nullptr;
  } else {
    return &LinearFloat<kFormat, R>;
  }
}

template <Format kFormat, int... kSize>
void FillFloatSizes(Kernels& k, Indices<kSize...>) {
  ((k.linear[static_cast<int>(kFormat)][kSize] = FloatOf<kFormat, kChunkRows[kSize]>()), ...);
}

// Fills in the products with BF16 weights.
FT_INLINE void FillBf16(Kernels& k) {
  k.bf16_tile = kBf16Tile;
  FillFloatSizes<Format::kBF16>(k, ChunkIndices{});
}

// Fills in all products, the limits of their configurations, and the fastest configurations.
FT_INLINE void FillProducts(Kernels& k) {
  k.limits = {.most_chunk_rows = kMostChunkRows,
              .most_interleaved_panels = kMostTogether,
              .two_units = false};
  // On AMD's cores, whose hardware prefetcher follows a single stream, reading four parallel
  // streams is a third slower than reading one. On Intel's cores it is a quarter faster. A 512-bit
  // store takes two cycles on AMD's cores, so chunks are kept small enough there for sums to stay
  // in registers. Attention over Q8_0 caches takes a quarter longer on AMD's cores if lines are
  // prefetched only into L2. With 512-bit vectors, chunks of fewer than eight rows are slower in
  // tiles of several chunks.
  k.on_amd = {.most_chunk_rows = kNative == 16 ? 12 : kMostChunkRows,
              .least_chunk_rows = kNative == 16 ? 8 : kMostChunkRows,
              .streams = 1,
              .interleaved_panels = kMostTogether,
              .prefetches_near = true};
  k.elsewhere = {.most_chunk_rows = kMostChunkRows,
                 .least_chunk_rows = kNative == 16 ? 8 : kMostChunkRows,
                 .streams = kMostTogether,
                 .interleaved_panels = 1,
                 .prefetches_near = false};
  FillBlocks(k);
  FillFloatSizes<Format::kF32>(k, ChunkIndices{});
  FillFloatSizes<Format::kF16>(k, ChunkIndices{});
  FillBf16(k);
}

}  // namespace foretoken::FT_ISA
