// Products of quantised weights and activation tiles: how panels are traversed for each number of
// rows.
#pragma once

#include "backend/cpu/linear/linear_blocks.h"

namespace foretoken::FT_ISA {

// Prefetch distance in bytes where several panels are read as parallel streams. It exceeds the
// bytes that a core reads in the time of one memory access. At the end of short panels, the
// beginnings of the next ones are then already being fetched.
inline constexpr int64_t kAhead = 10240;
// Prefetch distance in bytes for a single stream and in LinearGroups. It exceeds the largest group.
inline constexpr int64_t kStreamAhead = 6144;
inline constexpr int64_t kMostScaleBytes = 64;  // largest size of a block's scales and minima

// Upper bound on the cache lines of a block, its scales included.
template <Format kFormat>
inline constexpr int kBlockLines = (BlockAt<kFormat>::kBytes + kMostScaleBytes + 63) / 64;

// The address to prefetch from while `panel` is multiplied: the next panel or, after the call's
// last, LinearCall::next. If that is null, the address after the last panel, which need not be
// readable.
FT_INLINE const std::byte* NextPanel(const LinearCall& c, int64_t panel) {
  if (panel + 1 == c.panel_end && c.next != nullptr) return c.next;
  return c.panels + (panel + 1) * c.layout.panel_bytes;
}

// Prefetches one block of each of P panel streams, in parts that are spread over the arithmetic of
// the current block. Issued all at once, the prefetches would occupy all of the core's line-fill
// buffers, and the arithmetic after them would wait.
template <Format kFormat, int P>
struct ReadAhead {
  static constexpr int kLines = kBlockLines<kFormat>;

  const std::byte* at;
  int64_t panel_bytes;

  // Prefetches part `i` of `n`.
  FT_INLINE void Part(int i, int n) const {
    for (int l = P * kLines * i / n; l < P * kLines * (i + 1) / n; ++l) {
      __builtin_prefetch(at + l / kLines * panel_bytes + l % kLines * 64, 0, 2);
    }
  }
};

// Calls add(at, sub, ahead) for every block of P panels, in ascending order. `at`: the panels'
// blocks; `sub`: their index in their group; `ahead`: the prefetches to issue during the
// arithmetic.
//
// The P panels are parallel streams. On Intel's cores, reading one stream after the other is a
// quarter slower; AMD's cores read a single stream faster (FillProducts). Without software
// prefetching, products with sixteen rows take twice as long, because the hardware prefetcher stops
// at the end of a 4 KiB page and has to be triggered anew on the next one. kInOrder (a single
// stream only): cache lines are read in address order, whatever the order in `add`.
template <Format kFormat, int P, bool kInOrder = false, typename Add>
FT_INLINE void WalkPanels(const LinearCall& c, int64_t panel, Add add) {
  const std::byte* const begin = c.panels + panel * c.layout.panel_bytes;
  const std::byte* stream = begin;
  const int64_t group_bytes = c.layout.GroupBytes(kGroupBlocks);
  const int64_t block_bytes = group_bytes / kGroupBlocks;
  constexpr int64_t kDistance = P == 1 ? kStreamAhead : kAhead;
  int64_t ahead = kDistance;
  for (int64_t left = c.cols / kBlock; left > 0; left -= kGroupBlocks) {
    const int count = left < kGroupBlocks ? static_cast<int>(left) : kGroupBlocks;
    // Past the panel's end, its stream continues with panel + P.
    if (ahead == kDistance && stream + ahead >= begin + c.layout.panel_bytes) {
      ahead += (P - 1) * c.layout.panel_bytes;
    }
    BlockAt<kFormat> at[P];
    FT_UNROLL(4)
    for (int p = 0; p < P; ++p) {
      at[p] = BlockAt<kFormat>::First(c.layout, stream + p * c.layout.panel_bytes, count);
    }
    static_assert(!kInOrder || P == 1);
    if constexpr (kInOrder) at[0].TouchScales();
    for (int sub = 0; sub < count; ++sub) {
      if constexpr (kInOrder) at[0].TouchCodes();
      add(at, sub, ReadAhead<kFormat, P>{stream + sub * block_bytes + ahead, c.layout.panel_bytes});
      FT_UNROLL(4)
      for (int p = 0; p < P; ++p) at[p].codes += BlockAt<kFormat>::kBytes;
    }
    stream += group_bytes;
  }
}

// Whether a block's sums get an artificial dependency on those of the block before.
// Without this dependency, a core that is much faster than its memory runs ahead in bursts. Its
// demand loads then overtake the hardware prefetcher, and fewer reads are in flight than if the
// prefetcher issued them. On Zen 4 the dependency makes Q8_0 and Q4_0 faster. It makes K formats
// slower if their weights are in a cache, so they do without it.
template <Format kFormat, int R, int P>
inline constexpr bool kBlocksDepend = P == 1 && R == 1 && kNative == 16 &&
                                      (kTraitsOf<kFormat>.bits == 8 || kFormat == Format::kQ4_0);

// Whether LinearPanels may add no-ops after each block; it does if c.streams is 4. If a core
// multiplies faster than weights arrive from memory, its out-of-order window reaches blocks whose
// prefetches are still in flight, and it issues demand loads for their lines. Those loads occupy
// the buffers that further prefetches need, so prefetching never catches up. The no-ops take the
// place of those loads in the window. Measured on Intel's cores: the no-ops help 8-bit
// formats with chunks of eight rows only. With fewer bits or more rows, a block has so many
// instructions that the window does not reach the next block's loads.
template <Format kFormat, int R>
inline constexpr bool kIssuesNops = R == 8 && kTraitsOf<kFormat>.bits == 8 && kNative == 16;
FT_INLINE void IssueNops() {
#if defined(__x86_64__)
  asm volatile(".rept 40\n\tnop\n\t.endr");
#endif
}

// Multiplies P panels with a tile of one chunk. The panels are traversed once, with the sums in
// local variables, which the compiler keeps in registers as far as possible (kMostChunkRows).
template <Format kFormat, int R, int P>
void LinearPanels(const LinearCall& c, int64_t panel) {
  const std::byte* tile = c.tile;
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) PrefetchOutputs<R>(c, 0, panel + p);
  F acc[P][R] = {};
  I running[P][R] = {};
  // Whether the stream is left to the hardware prefetcher, which follows a single stream within a
  // page. It cannot foresee the weights of the next call (c.next), whose first lines are prefetched
  // here.
  constexpr bool kHardwarePrefetched =
      P == 1 && (R == 1 || (R <= 4 && kTraitsOf<kFormat>.bits == 8));
  // The hardware prefetcher loses track of a stream whose lines are not read in order, and products
  // read a block's scales only after the codes of the blocks before. Lines are therefore touched in
  // order first, except in Q6_K, where that was measured to be slower.
  constexpr bool kInOrder = kHardwarePrefetched && kTraitsOf<kFormat>.halves == 1;
  const std::byte* next = panel + P == c.panel_end ? c.next : nullptr;
  WalkPanels<kFormat, P, kInOrder>(
      c, panel, [&](const BlockAt<kFormat> at[P], int sub, [[maybe_unused]] auto ahead) {
        if constexpr (kHardwarePrefetched) {
          if (next != nullptr) {
            __builtin_prefetch(next, 0, 2);
            next += 64;
          }
        }
        FT_UNROLL(4)
        for (int p = 0; p < P; ++p) {
          if constexpr (!kHardwarePrefetched) ahead.Part(p, P);
          AddBlock<kFormat, R, kBlocksDepend<kFormat, R, P>>(
              at[p], sub, TileBlock<kFormat, R>{tile}, acc[p], running[p]);
        }
        tile += TileBlock<kFormat, R>::kBytes;
        if constexpr (kIssuesNops<kFormat, R>) {
          if (c.streams == 4) IssueNops();
        }
      });
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, 0, panel + p, acc[p]);
}

// Whether unpacking a group's codes once for all chunks can be faster than unpacking them in each
// product.
template <Format kFormat>
inline constexpr bool kCanUnpackFirst = kTraitsOf<kFormat>.bits < 8 && kNative >= 8;
// The smallest number of chunks for which unpacking first was measured to be faster; kMaxTileRows
// if there is none. `streams`: 1 on AMD's cores. With 512-bit vectors, AMD's cores unpack in
// parallel with products; on Intel's, unpacking competes with products for the two 512-bit
// instructions that a core issues per cycle.
template <Format kFormat>
constexpr int MinChunksToUnpack(int streams) {
  if (!kCanUnpackFirst<kFormat> || (kNative == 16 && streams == 1)) return kMaxTileRows;
  return kNative == 16 || kTraitsOf<kFormat>.bits > 4 ? 2 : 5;
}

// A group of blocks unpacked once for all chunks: a byte for each code, and scales as floats.
template <Format kFormat>
struct UnpackedGroup {
  static constexpr int kHalves = kTraitsOf<kFormat>.halves;
  static constexpr int64_t kBlockBytes = 8 * 64;

  alignas(64) std::byte codes[kGroupBlocks * kBlockBytes];
  F scales[kGroupBlocks][kHalves];
  F minima[kGroupBlocks];

  FT_INLINE void Unpack(BlockAt<kFormat> at, int count) {
    for (int sub = 0; sub < count; ++sub) {
      FT_UNROLL(2)
      for (int half = 0; half < kHalves; ++half) {
        scales[sub][half] = at.Scale(sub, half);
        FT_UNROLL(8)
        for (int i = 0; i < at.kVectors; ++i) {
          StoreI(at.Vector(half, i), codes + sub * kBlockBytes + 64 * (half * at.kVectors + i));
        }
      }
      if constexpr (kTraitsOf<kFormat>.has_minimum) minima[sub] = at.Minimum(sub);
      at.codes += at.kBytes;
    }
  }
};

// A block of an UnpackedGroup, with BlockAt's interface.
template <Format kFormat>
struct UnpackedBlockAt {
  static constexpr int64_t kBytes = UnpackedGroup<kFormat>::kBlockBytes;

  const std::byte* codes;
  const UnpackedGroup<kFormat>* group;

  FT_INLINE I Vector(int half, int i) const {
    return LoadI(codes + 64 * (half * BlockAt<kFormat>::kVectors + i));
  }
  FT_INLINE F Scale(int sub, int half) const { return group->scales[sub][half]; }
  FT_INLINE F Minimum(int sub) const { return group->minima[sub]; }
};

// The blocks of a group of one panel, and the memory to prefetch while they are multiplied. At:
// BlockAt, or UnpackedBlockAt if the group has been unpacked.
template <Format kFormat, typename At>
struct GroupAt {
  At first;
  int count;
  const std::byte* ahead;
  int64_t block_bytes;

  // Adds the products of the blocks to the sums of chunk `chunk`. The sums are kept in local
  // variables throughout, because storing one takes as long as two products.
  template <int R>
  FT_INLINE void AddTo(const std::byte* tile, int chunk, int chunks, F sums[R]) const {
    const int from = kBlockLines<kFormat> * chunk / chunks;
    const int to = kBlockLines<kFormat> * (chunk + 1) / chunks;
    const std::byte* line = ahead;
    At at = first;
    tile += chunk * TileBlock<kFormat, R>::kBytes;
    F acc[R];
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) acc[r] = sums[r];
    for (int sub = 0; sub < count; ++sub) {
      for (int l = from; l < to; ++l) __builtin_prefetch(line + l * 64, 0, 2);
      AddBlock<kFormat, R>(at, sub, TileBlock<kFormat, R>{Opaque(tile)}, acc);
      at.codes += At::kBytes;
      tile += chunks * TileBlock<kFormat, R>::kBytes;
      line += block_bytes;
    }
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) sums[r] = acc[r];
  }
};

// Multiplies P panels with a tile of several chunks. While a group of blocks is in the L1 cache, it
// is multiplied with one chunk after the other. The group's part of the tile is used for all P
// panels while it is in the cache.
template <Format kFormat, int R, int P>
void LinearGroups(const LinearCall& c, int64_t panel) {
  const int64_t panel_bytes = c.layout.panel_bytes;
  const int64_t block_bytes = c.layout.GroupBytes(kGroupBlocks) / kGroupBlocks;
  const std::byte* const begin = c.panels + panel * panel_bytes;
  const std::byte* stream = begin;
  const std::byte* tile = c.tile;
  F sums[P][MostChunks(R)][R] = {};
  for (int64_t left = c.cols / kBlock; left > 0; left -= kGroupBlocks) {
    const int count = left < kGroupBlocks ? static_cast<int>(left) : kGroupBlocks;
    const std::byte* ahead = stream + kStreamAhead;
    // Past the panel's end, its stream continues with panel + P.
    if (ahead >= begin + panel_bytes) ahead += (P - 1) * panel_bytes;
    for (int p = 0; p < P; ++p) {
      const auto first = BlockAt<kFormat>::First(c.layout, stream + p * panel_bytes, count);
      const auto add = [&](auto at) {
        const GroupAt<kFormat, decltype(at)> group{at, count, ahead + p * panel_bytes, block_bytes};
        for (int k = 0; k < c.chunks; ++k) {
          group.template AddTo<R>(tile, k, c.chunks, sums[p][k]);
        }
      };
      if constexpr (kCanUnpackFirst<kFormat>) {
        if (c.chunks >= MinChunksToUnpack<kFormat>(c.streams)) {
          UnpackedGroup<kFormat> unpacked;
          unpacked.Unpack(first, count);
          add(UnpackedBlockAt<kFormat>{unpacked.codes, &unpacked});
          continue;
        }
      }
      add(first);
    }
    tile += count * c.chunks * TileBlock<kFormat, R>::kBytes;
    stream += c.layout.GroupBytes(count);
  }
  for (int p = 0; p < P; ++p) {
    for (int k = 0; k < c.chunks; ++k) StorePanel<R>(c, k, panel + p, sums[p][k]);
  }
}

// Multiplies one panel with a tile of several chunks; groups are not unpacked first. Each chunk
// traverses the whole panel with its sums in local variables, as in LinearPanels, and prefetches
// its share of the next panel.
template <Format kFormat, int R>
void LinearChunks(const LinearCall& c, int64_t panel) {
  constexpr int kLines = kBlockLines<kFormat>;
  const std::byte* const begin = c.panels + panel * c.layout.panel_bytes;
  const std::byte* next = NextPanel(c, panel);
  for (int k = 0; k < c.chunks; ++k) {
    const int share = kLines * (k + 1) / c.chunks - kLines * k / c.chunks;  // lines per block
    const std::byte* stream = begin;
    const std::byte* tile = c.tile + k * TileBlock<kFormat, R>::kBytes;
    PrefetchOutputs<R>(c, k, panel);
    F acc[R] = {};
    for (int64_t left = c.cols / kBlock; left > 0; left -= kGroupBlocks) {
      const int count = left < kGroupBlocks ? static_cast<int>(left) : kGroupBlocks;
      auto at = BlockAt<kFormat>::First(c.layout, stream, count);
      for (int sub = 0; sub < count; ++sub) {
        for (int l = 0; l < share; ++l) __builtin_prefetch(next + l * 64, 0, 2);
        next += share * 64;
        AddBlock<kFormat, R>(at, sub, TileBlock<kFormat, R>{Opaque(tile)}, acc);
        at.codes += BlockAt<kFormat>::kBytes;
        tile += c.chunks * TileBlock<kFormat, R>::kBytes;
      }
      stream += c.layout.GroupBytes(kGroupBlocks);
    }
    StorePanel<R>(c, k, panel, acc);
  }
}

template <Format kFormat, int R>
void LinearBlocks(const LinearCall& c) {
  int64_t panel = c.panel_begin;
  if (c.chunks == 1) {
    if constexpr (R <= 4) {
      const int64_t fours_end = c.streams == 4 ? c.panel_end : c.panel_begin;
      for (; panel + 4 <= fours_end; panel += 4) LinearPanels<kFormat, R, 4>(c, panel);
    }
    for (; panel < c.panel_end; ++panel) LinearPanels<kFormat, R, 1>(c, panel);
  }
  if constexpr (MostChunks(R) > 1) {
    const bool unpacks = c.chunks >= MinChunksToUnpack<kFormat>(c.streams);
    // Where the hardware prefetcher follows one stream, it would lose track if reads alternated
    // between two panels. Where it follows several, multiplying two panels together is faster; with
    // 512-bit vectors, only in tiles of fewer than 32 rows.
    if (!unpacks && (c.streams == 1 || (kNative == 16 && c.chunks * R >= 32))) {
      for (; panel < c.panel_end; ++panel) LinearChunks<kFormat, R>(c, panel);
    }
    if (kNative != 16 || !unpacks) {
      for (; panel + 2 <= c.panel_end; panel += 2) LinearGroups<kFormat, R, 2>(c, panel);
    }
    for (; panel < c.panel_end; ++panel) LinearGroups<kFormat, R, 1>(c, panel);
  }
}

template <int... kIndex>
struct Indices {};
// Indices<0, 1, ..., kCount - 1>.
template <int kCount, int... kAfter>
struct IndicesBelow : IndicesBelow<kCount - 1, kCount - 1, kAfter...> {};
template <int... kIndex>
struct IndicesBelow<0, kIndex...> {
  using Type = Indices<kIndex...>;
};
using ChunkIndices = IndicesBelow<kChunkSizes>::Type;  // indices into kChunkRows
using QuantisedFormats = IndicesBelow<kQuantisedFormats>::Type;

template <Format kFormat, int R>
constexpr void (*BlocksOf())(const LinearCall&) {
  if constexpr (R > kMostChunkRows) {
    return nullptr;
  } else {
    return &LinearBlocks<kFormat, R>;
  }
}

template <Format kFormat, int... kSize>
void FillBlockSizes(Kernels& k, Indices<kSize...>) {
  ((k.linear[static_cast<int>(kFormat)][kSize] = BlocksOf<kFormat, kChunkRows[kSize]>()), ...);
}

template <int... kFormat>
void FillBlockFormats(Kernels& k, Indices<kFormat...>) {
  (FillBlockSizes<static_cast<Format>(kFormat)>(k, ChunkIndices{}), ...);
}

// Fills in the products of every quantised format.
FT_INLINE void FillBlocks(Kernels& k) { FillBlockFormats(k, QuantisedFormats{}); }

}  // namespace foretoken::FT_ISA
