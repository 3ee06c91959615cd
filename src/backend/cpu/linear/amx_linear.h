// Products on the matrix unit (AMX): one instruction multiplies sixteen rows with sixteen outputs.
//
// Integer dot products are exact, and the arithmetic after them is that of the AVX-512 kernels, so
// quantised formats give the same bits on both. The AVX-512 kernels remain in use for few rows. AMX
// sums BF16 products in a different order, so all products with BF16 weights run on AMX, whatever
// the number of rows.
#pragma once

#include "backend/cpu/isa/amx_tiles.h"
#include "backend/cpu/isa/vec_math.h"
#include "backend/cpu/linear/linear_kernels.h"

namespace foretoken::FT_ISA {

// Computes the integer sums of panels [kBegin, kEnd) for the chunk whose rows are loaded.
template <int kBegin, int kEnd>
FT_INLINE void MultiplyTiles(const std::byte* const codes[]) {
  EachTile<kEnd - kBegin>([&](auto i) {
    constexpr int kIndex = kBegin + decltype(i)::kValue;
    constexpr int kCodes = kIndex % 2 == 0 ? kInt8Codes : kMoreInt8Codes;
    ZeroTile<kSums + kIndex>();
    LoadTile<kCodes>(codes[kIndex], 64);
    MultiplyInt8<kSums + kIndex, kCodes>();
  });
}
// Stores the integer sums of panels [kBegin, kEnd) to dots [P][R][kLanes].
template <int R, int kBegin, int kEnd>
FT_INLINE void StoreTiles(int32_t* dots) {
  EachTile<kEnd - kBegin>([&](auto i) {
    constexpr int kIndex = kBegin + decltype(i)::kValue;
    StoreTile<kSums + kIndex>(dots + kIndex * R * kLanes, 64);
  });
}

// A block of P panels, or a half of it, as AMX reads it: with a byte for each code.
template <Format kFormat, int P>
struct TileWeights {
  const std::byte* codes[P];
  I unpacked[P][BlockAt<kFormat>::kVectors];
  F scale[P], minimum[P];
};

template <Format kFormat, int P>
FT_INLINE void Unpack(const BlockAt<kFormat> at[P], int sub, int half, TileWeights<kFormat, P>& w) {
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) {
    w.scale[p] = at[p].Scale(sub, half);
    if constexpr (kTraitsOf<kFormat>.has_minimum) w.minimum[p] = at[p].Minimum(sub);
    w.codes[p] = at[p].codes;
    if constexpr (kTraitsOf<kFormat>.bits < 8) {
      FT_UNROLL(8)
      for (int i = 0; i < BlockAt<kFormat>::kVectors; ++i) w.unpacked[p][i] = at[p].Vector(half, i);
      w.codes[p] = reinterpret_cast<const std::byte*>(w.unpacked[p]);
    }
  }
}

// Scales the stored sums of panels [kBegin, kEnd) and adds them to the sums of a chunk. Calls
// before(row) before it processes each row.
template <Format kFormat, int R, int P, int kBegin, int kEnd, typename Before>
FT_INLINE void AddDots(const TileWeights<kFormat, P>& w, int half, TileBlock<kFormat, R> chunk,
                       const int32_t (*dots)[R][kLanes], F sums[R][P], Before before) {
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    before(r);
    const I start = Splat(chunk.Start(r, half));
    FT_UNROLL(4)
    for (int p = kBegin; p < kEnd; ++p) {
      F sum = Fma(Unbased(LoadI(dots[p][r]) + start, chunk, r), w.scale[p], sums[r][p]);
      if constexpr (kTraitsOf<kFormat>.has_minimum) {
        sum = Fma(w.minimum[p], Splat(chunk.Sum(r)), sum);
      }
      sums[r][p] = sum;
    }
  }
}

// Adds the products of a block of P panels, or of a half of it, to the sums of every chunk. The
// latency from loading an AMX operand to storing the sums is long, and scaling these sums with
// vector instructions takes at least as long. So panels are processed in two parts: AMX multiplies
// one part while the sums of the other are scaled.
template <Format kFormat, int R, int P>
FT_INLINE void AddTiles(const BlockAt<kFormat> at[P], int sub, int half, const std::byte* tile,
                        int chunks, F sums[][R][P], ReadAhead<kFormat, P> ahead) {
  constexpr int kFirstPart = P > 1 ? P / 2 : 1;
  alignas(64) int32_t dots[P][R][kLanes];
  TileWeights<kFormat, P> w;
  Unpack<kFormat, P>(at, sub, half, w);
  const int64_t offset = half * 4 * BlockAt<kFormat>::kVectors;
  LoadTile<kInt8Rows>(tile + offset, kBlock);
  MultiplyTiles<0, kFirstPart>(w.codes);
  for (int k = 0; k < chunks; ++k) {
    const TileBlock<kFormat, R> chunk{Opaque(tile + k * TileBlock<kFormat, R>::kBytes)};
    StoreTiles<R, 0, kFirstPart>(&dots[0][0][0]);
    if constexpr (P > 1) MultiplyTiles<kFirstPart, P>(w.codes);
    // Always inlined: the compiler would otherwise consider it a function without effects and
    // remove the call.
    const auto prefetch = [&](int r) __attribute__((always_inline)) {
      if (k == 0 && half == 0) ahead.Part(r, R);
    };
    AddDots<kFormat, R, P, 0, kFirstPart>(w, half, chunk, dots, sums[k], prefetch);
    if constexpr (P > 1) StoreTiles<R, kFirstPart, P>(&dots[0][0][0]);
    if (k + 1 < chunks) {
      LoadTile<kInt8Rows>(chunk.at + TileBlock<kFormat, R>::kBytes + offset, kBlock);
      MultiplyTiles<0, kFirstPart>(w.codes);
    }
    if constexpr (P > 1) {
      AddDots<kFormat, R, P, kFirstPart, P>(w, half, chunk, dots, sums[k], [](int) {});
    }
  }
}

template <Format kFormat, int R, int P>
void TilePanels(const LinearCall& c, int64_t panel) {
  const std::byte* tile = c.tile;
  F sums[MostChunks(R)][R][P] = {};
  WalkPanels<kFormat, P>(c, panel, [&](const BlockAt<kFormat> at[P], int sub, auto ahead) {
    FT_UNROLL(2)
    for (int half = 0; half < kTraitsOf<kFormat>.halves; ++half) {
      AddTiles<kFormat, R, P>(at, sub, half, tile, c.chunks, sums, ahead);
    }
    tile += c.chunks * TileBlock<kFormat, R>::kBytes;
  });
  for (int k = 0; k < c.chunks; ++k) {
    FT_UNROLL(4)
    for (int p = 0; p < P; ++p) {
      F acc[R];
      FT_UNROLL(16)
      for (int r = 0; r < R; ++r) acc[r] = sums[k][r][p];
      StorePanel<R>(c, k, panel + p, acc);
    }
  }
}

template <Format kFormat, int R>
void TileBlocks(const LinearCall& c) {
  ConfigureTiles(R, BlockAt<kFormat>::kVectors);
  int64_t panel = c.panel_begin;
  for (; panel + 4 <= c.panel_end; panel += 4) TilePanels<kFormat, R, 4>(c, panel);
  // Threads' shares begin at multiples of two panels, so two panels are often left.
  for (; panel + 2 <= c.panel_end; panel += 2) TilePanels<kFormat, R, 2>(c, panel);
  for (; panel < c.panel_end; ++panel) TilePanels<kFormat, R, 1>(c, panel);
  ReleaseTiles();
}

inline constexpr int64_t kTileInputs = 32;  // inputs of a step of BF16
// Prefetch distance in bytes of BF16 weights. A step reads a whole KiB of a panel in order, which
// the hardware prefetcher follows as well. A larger distance interferes with it (a fifth slower).
inline constexpr int64_t kStepAhead = 256;

// The operands of one step of the products of K chunks and P panels; K * P <= 4.
struct Bf16Step {
  const std::byte* rows;
  int64_t chunk_bytes;
  const std::byte* weights;
  int64_t panel_bytes;
};

template <int K, int P, bool kPrefetches>
FT_INLINE void AddBf16Step(const Bf16Step& at) {
  LoadTile<kBf16Rows>(at.rows, 64);
  if constexpr (K > 1) LoadTile<kMoreBf16Rows>(at.rows + at.chunk_bytes, 64);
  EachTile<P>([&](auto p) {
    constexpr int kIndex = decltype(p)::kValue;
    if constexpr (kPrefetches) Prefetch(at.weights + kIndex * at.panel_bytes + kStepAhead, 1024);
    LoadTile<kBf16Weights>(at.weights + kIndex * at.panel_bytes, 64);
    MultiplyBf16<kSums + kIndex, kBf16Rows>();
    if constexpr (K > 1) MultiplyBf16<kSums + P + kIndex, kMoreBf16Rows>();
  });
}

// Multiplies chunks [chunk, chunk + K) with panels [panel, panel + P).
template <int R, int K, int P>
void TileBf16Panels(const LinearCall& c, int64_t panel, int chunk) {
  const int64_t whole_steps = c.cols / kTileInputs;
  const int64_t chunk_bytes = (c.cols + kTileInputs - 1) / kTileInputs * R * 64;
  Bf16Step at{.rows = c.tile + chunk * chunk_bytes,
              .chunk_bytes = chunk_bytes,
              .weights = c.panels + panel * c.layout.panel_bytes,
              .panel_bytes = c.layout.panel_bytes};
  EachTile<K * P>([](auto i) { ZeroTile<kSums + decltype(i)::kValue>(); });
  for (int64_t s = 0; s < whole_steps; ++s, at.rows += R * 64, at.weights += 1024) {
    if (chunk == 0) {
      AddBf16Step<K, P, true>(at);
    } else {
      AddBf16Step<K, P, false>(at);
    }
  }
  if (const int64_t rest = c.cols % kTileInputs; rest != 0) {
    // The memory after the panel may hold NaN or infinity, which must not be multiplied with the
    // zeros that pad x. So the last weights are copied to a padded buffer.
    alignas(64) std::byte last[P][1024] = {};
    for (int p = 0; p < P; ++p) {
      __builtin_memcpy(last[p], at.weights + p * at.panel_bytes,
                       static_cast<size_t>(rest + 1) / 2 * 64);
    }
    at.weights = last[0];
    at.panel_bytes = 1024;
    AddBf16Step<K, P, false>(at);
  }
  alignas(64) float sums[R][kLanes];
  EachTile<K * P>([&](auto i) {
    constexpr int kTile = decltype(i)::kValue;
    StoreTile<kSums + kTile>(sums, 64);
    F acc[R];
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[r] = Load(sums[r]);
    StorePanel<R>(c, chunk + kTile / P, panel + kTile % P, acc);
  });
}

template <int R>
void TileBf16(const LinearCall& c) {
  ConfigureTiles(R, /*words=*/16);
  int64_t panel = c.panel_begin;
  if (c.chunks > 1) {
    for (; panel + 2 <= c.panel_end; panel += 2) {
      int k = 0;
      for (; k + 2 <= c.chunks; k += 2) TileBf16Panels<R, 2, 2>(c, panel, k);
      if (k < c.chunks) TileBf16Panels<R, 1, 2>(c, panel, k);
    }
  }
  for (; panel + 4 <= c.panel_end; panel += 4) {
    for (int k = 0; k < c.chunks; ++k) TileBf16Panels<R, 1, 4>(c, panel, k);
  }
  for (; panel < c.panel_end; ++panel) {
    for (int k = 0; k < c.chunks; ++k) TileBf16Panels<R, 1, 1>(c, panel, k);
  }
  ReleaseTiles();
}

// Fills columns [begin, end) of a tile of bf16: per chunk [cols / 32][rows][32], the end of the
// last step filled with zeros.
inline void MakeBf16Steps(const TileCall& t, int64_t begin, int64_t end) {
  const int64_t steps = (t.cols + kTileInputs - 1) / kTileInputs;
  for (int r = 0; r < t.chunks * t.chunk_rows; ++r) {
    std::byte* chunk = t.tile + r / t.chunk_rows * steps * t.chunk_rows * 64;
    for (int64_t i = begin; i < end; i += kTileInputs) {
      std::byte* to = chunk + (i / kTileInputs * t.chunk_rows + r % t.chunk_rows) * 64;
      for (int64_t j = 0; j < kTileInputs; j += kLanes) {
        const bool has_values = r < t.rows && i + j < end;
        const float* x = t.x + r * t.stride + (i + j - begin);
        StoreLow16(has_values ? ToBf16(LoadFirst(x, end - i - j)) : Splat(0), to + 2 * j);
      }
    }
  }
}

// Quantised products of chunks with fewer rows than this use the vector kernels: AMX is no faster
// for them.
inline constexpr int kFewestTileRows = 8;

template <Format kFormat, int kSize>
void FillTileSize(Kernels& k) {
  auto& run = k.linear[static_cast<int>(kFormat)][kSize];
  k.vector_linear[static_cast<int>(kFormat)][kSize] = run;
  if constexpr (kChunkRows[kSize] >= kFewestTileRows) run = &TileBlocks<kFormat, kChunkRows[kSize]>;
}

template <Format kFormat, int... kSize>
void FillTileFormat(Kernels& k, Indices<kSize...>) {
  (FillTileSize<kFormat, kSize>(k), ...);
}

template <int... kFormat>
void FillTileFormats(Kernels& k, Indices<kFormat...>) {
  (FillTileFormat<static_cast<Format>(kFormat)>(k, ChunkIndices{}), ...);
}

template <int... kSize>
void FillTileBf16(Kernels& k, Indices<kSize...>) {
  ((k.linear[static_cast<int>(Format::kBF16)][kSize] = &TileBf16<kChunkRows[kSize]>), ...);
}

// Replaces kernels in a table for AVX-512: those of BF16 weights by AMX kernels, and those of
// quantised weights by AMX kernels where the chunks are large enough (kFewestTileRows). Not inline:
// one file per FT_ISA defines it.
void FillTileLinear(Kernels& k) {  // NOLINT(misc-definitions-in-headers)
  k.bf16_tile = TileKind::kBf16Steps;
  k.limits.most_interleaved_panels = 1;
  k.limits.two_units = true;
  KernelConfig* const configs[] = {&k.on_amd, &k.elsewhere};
  for (KernelConfig* config : configs) {
    config->most_chunk_rows = 16;
    config->least_chunk_rows = 12;
    config->interleaved_panels = 1;
  }
  k.make_tile[static_cast<int>(TileKind::kBf16Steps)] = &MakeBf16Steps;
  FillTileFormats(k, QuantisedFormats{});
  FillTileBf16(k, ChunkIndices{});
}

}  // namespace foretoken::FT_ISA
