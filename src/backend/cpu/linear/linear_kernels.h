// Weights times activation tiles, for every quantised format: how panels are gone through, by the
// number of rows.
#pragma once

#include "backend/cpu/linear/linear_blocks.h"

namespace foretoken::FT_ISA {

// How far ahead of its use memory is asked for, where streams lie side by side: more than what a
// core reads in the time that one access takes, so that the first pages of the next panels are
// under way while short panels end.
inline constexpr int64_t kAhead = 10240;
// Where it is a single stream, or where a group of blocks is read once for each chunk: more than
// the largest group.
inline constexpr int64_t kStreamAhead = 6144;
inline constexpr int64_t kMostScaleBytes = 64;  // of a block

// Cache lines of a block, at most.
template <Format kFormat>
inline constexpr int kBlockLines = (BlockAt<kFormat>::kBytes + kMostScaleBytes + 63) / 64;

// Where the panel begins that is read after this one.
FT_INLINE const std::byte* NextPanel(const LinearCall& c, int64_t panel) {
  if (panel + 1 == c.panel_end && c.next != nullptr) return c.next;
  return c.panels + (panel + 1) * c.layout.panel_bytes;
}

// What of P panels' streams is asked for during a step. In one go it would fill the queue of reads,
// and the arithmetic behind it would wait.
template <Format kFormat, int P>
struct ReadAhead {
  static constexpr int kLines = kBlockLines<kFormat>;

  const std::byte* at;
  int64_t panel_bytes;

  // Part i of n.
  FT_INLINE void Part(int i, int n) const {
    for (int l = P * kLines * i / n; l < P * kLines * (i + 1) / n; ++l) {
      __builtin_prefetch(at + l / kLines * panel_bytes + l % kLines * 64, 0, 2);
    }
  }
};

// Calls add(blocks of P panels, their place in their group, what to ask for meanwhile) for block
// after block. P panels side by side: their streams are under way together. One stream after the
// other is read a quarter slower, and without asking ahead sixteen rows take twice as long:
// processors look ahead within a page of 4 KiB only, and work on a page is short. kInOrder: lines
// are read in the order in which they lie, whatever `add` does; of a single stream.
template <Format kFormat, int P, bool kInOrder = false, typename Add>
FT_INLINE void WalkPanels(const LinearCall& c, int64_t panel, Add add) {
  const std::byte* const begin = c.panels + panel * c.layout.panel_bytes;
  const std::byte* stream = begin;
  const int64_t group_bytes = c.layout.GroupBytes(kGroupBlocks);
  const int64_t block_bytes = group_bytes / kGroupBlocks;
  constexpr int64_t kNear = P == 1 ? kStreamAhead : kAhead;
  int64_t ahead = kNear;
  for (int64_t left = c.cols / kBlock; left > 0; left -= kGroupBlocks) {
    const int count = left < kGroupBlocks ? static_cast<int>(left) : kGroupBlocks;
    // Behind the panel's end, the stream goes on with the next panel but P - 1.
    if (ahead == kNear && stream + ahead >= begin + c.layout.panel_bytes) {
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

// Whether a block's products wait for those of the block before. A core that is much faster than
// its memory and need not wait runs ahead in bursts, and its reads overtake those that the
// processor makes by itself, of which more are under way. (Zen 4; K formats are slow enough.)
template <Format kFormat, int R, int P>
inline constexpr bool kTakeTurns = P == 1 && R == 1 && kNative == 16 &&
                                   (kTraitsOf<kFormat>.bits == 8 || kFormat == Format::kQ4_0);

// Whether the processor pauses after a block of eight rows. One that multiplies much faster than
// its memory delivers loads what has been asked for and not come yet, as far ahead as it has room
// for instructions; those loads hold the buffers that asking ahead needs, so that it remains late.
// Instructions that do nothing take the room. (Intel's cores; with codes of fewer bits, with fewer
// rows or more the room is short enough.)
template <Format kFormat, int R>
inline constexpr bool kPauses = R == 8 && kTraitsOf<kFormat>.bits == 8 && kNative == 16;
FT_INLINE void Pause() {
#if defined(__x86_64__)
  asm volatile(".rept 40\n\tnop\n\t.endr");
#endif
}

// Few rows: every sum of P panels stays in registers.
template <Format kFormat, int R, int P>
void LinearPanels(const LinearCall& c, int64_t panel) {
  const std::byte* tile = c.tile;
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) AskForOutputs<R>(c, 0, panel + p);
  F acc[P][R] = {};
  I all[P][R] = {};
  // In a single stream the processor looks ahead by itself, as far as it gets within a page, but
  // not to where the next stream begins.
  constexpr bool kFollowed = P == 1 && (R == 1 || (R <= 4 && kTraitsOf<kFormat>.bits == 8));
  // It loses its way where lines are left out that are read later: products come to a block's
  // scales when they have read the codes of the blocks before. (Q6_K is slower with that, as
  // measured.)
  constexpr bool kInOrder = kFollowed && kTraitsOf<kFormat>.halves == 1;
  const std::byte* next = panel + P == c.panel_end ? c.next : nullptr;
  WalkPanels<kFormat, P, kInOrder>(
      c, panel, [&](const BlockAt<kFormat> at[P], int sub, [[maybe_unused]] auto ahead) {
        if constexpr (kFollowed) {
          if (next != nullptr) {
            __builtin_prefetch(next, 0, 2);
            next += 64;
          }
        }
        FT_UNROLL(4)
        for (int p = 0; p < P; ++p) {
          if constexpr (!kFollowed) ahead.Part(p, P);
          AddBlock<kFormat, R, kTakeTurns<kFormat, R, P>>(at[p], sub, TileBlock<kFormat, R>{tile},
                                                          acc[p], all[p]);
        }
        tile += TileBlock<kFormat, R>::kBytes;
        if constexpr (kPauses<kFormat, R>) {
          if (c.streams == 4) Pause();
        }
      });
  FT_UNROLL(4)
  for (int p = 0; p < P; ++p) StorePanel<R>(c, 0, panel + p, acc[p]);
}

// Whether groups may be better taken apart once for all chunks, and from how many chunks on, as
// measured. AMD's cores with 16 lanes a register do that beside products, Intel's instead of them.
template <Format kFormat>
inline constexpr bool kOpens = kTraitsOf<kFormat>.bits < 8 && kNative >= 8;
template <Format kFormat>
constexpr int WorthOpening(int streams) {
  if (!kOpens<kFormat> || (kNative == 16 && streams == 1)) return kMaxTileRows;
  return kNative == 16 || kTraitsOf<kFormat>.bits > 4 ? 2 : 5;
}

// A group of blocks with a byte for each code, and with its scales as they multiply: taken apart
// once for all chunks.
template <Format kFormat>
struct OpenGroup {
  static constexpr int kHalves = kTraitsOf<kFormat>.halves;
  static constexpr int64_t kBlockBytes = 8 * 64;

  alignas(64) std::byte codes[kGroupBlocks * kBlockBytes];
  F scales[kGroupBlocks][kHalves];
  F minima[kGroupBlocks];

  FT_INLINE void Open(BlockAt<kFormat> at, int count) {
    for (int sub = 0; sub < count; ++sub) {
      FT_UNROLL(2)
      for (int half = 0; half < kHalves; ++half) {
        scales[sub][half] = at.Scale(sub, half);
        FT_UNROLL(8)
        for (int i = 0; i < at.kGroups; ++i) {
          StoreI(at.Group(half, i), codes + sub * kBlockBytes + 64 * (half * at.kGroups + i));
        }
      }
      if constexpr (kTraitsOf<kFormat>.has_minimum) minima[sub] = at.Minimum(sub);
      at.codes += at.kBytes;
    }
  }
};

template <Format kFormat>
struct OpenBlockAt {
  static constexpr int64_t kBytes = OpenGroup<kFormat>::kBlockBytes;

  const std::byte* codes;
  const OpenGroup<kFormat>* group;

  FT_INLINE I Group(int half, int i) const {
    return LoadI(codes + 64 * (half * BlockAt<kFormat>::kGroups + i));
  }
  FT_INLINE F Scale(int sub, int half) const { return group->scales[sub][half]; }
  FT_INLINE F Minimum(int sub) const { return group->minima[sub]; }
};

// The blocks of a group, of one panel, and what is asked for meanwhile. At: as of AddBlock.
template <Format kFormat, typename At>
struct GroupAt {
  At first;
  int count;
  const std::byte* ahead;
  int64_t block_bytes;

  // Adds them to the sums of chunk `chunk`, which stay in registers meanwhile: storing a sum takes
  // as long as two products.
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

// Many rows: a group of blocks, in the first cache by then, is multiplied with chunk after chunk.
// P panels use a tile's part while it is near.
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
    // Behind the panel's end, the stream goes on with the next panel but P - 1.
    if (ahead >= begin + panel_bytes) ahead += (P - 1) * panel_bytes;
    for (int p = 0; p < P; ++p) {
      const auto first = BlockAt<kFormat>::First(c.layout, stream + p * panel_bytes, count);
      const auto add = [&](auto at) {
        const GroupAt<kFormat, decltype(at)> group{at, count, ahead + p * panel_bytes, block_bytes};
        for (int k = 0; k < c.chunks; ++k) {
          group.template AddTo<R>(tile, k, c.chunks, sums[p][k]);
        }
      };
      if constexpr (kOpens<kFormat>) {
        if (c.chunks >= WorthOpening<kFormat>(c.streams)) {
          OpenGroup<kFormat> open;
          open.Open(first, count);
          add(OpenBlockAt<kFormat>{open.codes, &open});
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

// Many rows where a panel's blocks need not be taken apart: chunk after chunk goes through a panel
// with its sums in registers. Meanwhile they ask for the next panel, each for its share.
template <Format kFormat, int R>
void LinearChunks(const LinearCall& c, int64_t panel) {
  constexpr int kLines = kBlockLines<kFormat>;
  const std::byte* const begin = c.panels + panel * c.layout.panel_bytes;
  const std::byte* next = NextPanel(c, panel);
  for (int k = 0; k < c.chunks; ++k) {
    const int share = kLines * (k + 1) / c.chunks - kLines * k / c.chunks;  // a block
    const std::byte* stream = begin;
    const std::byte* tile = c.tile + k * TileBlock<kFormat, R>::kBytes;
    AskForOutputs<R>(c, k, panel);
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
      const int64_t together = c.streams == 4 ? c.panel_end : c.panel_begin;
      for (; panel + 4 <= together; panel += 4) LinearPanels<kFormat, R, 4>(c, panel);
    }
    for (; panel < c.panel_end; ++panel) LinearPanels<kFormat, R, 1>(c, panel);
  }
  if constexpr (MostChunks(R) > 1) {
    const bool opened = c.chunks >= WorthOpening<kFormat>(c.streams);
    // Where the processor follows one stream, it would lose its way between two. Where it follows
    // several, two panels' streams are read faster, which matters while chunks are few.
    if (!opened && (c.streams == 1 || (kNative == 16 && c.chunks * R >= 32))) {
      for (; panel < c.panel_end; ++panel) LinearChunks<kFormat, R>(c, panel);
    }
    if (kNative != 16 || !opened) {
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
using ChunkIndices = IndicesBelow<kChunkSizes>::Type;  // of kChunkRows
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

// Every quantised format.
FT_INLINE void FillBlocks(Kernels& k) { FillBlockFormats(k, QuantisedFormats{}); }

}  // namespace foretoken::FT_ISA
