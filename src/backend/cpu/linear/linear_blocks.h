// The product of a block of weights and a chunk of activation rows, for every quantised format.
// The code is written once, with the vectors of vec.h, and compiled for every instruction set.
//
// An output is summed block after block: acc = fma(integer dot product * activation unit, d, acc),
// where d is the block's weight scale; then the term of the block's minimum is added. Integer dot
// products are exact, so quantised formats give the same bits on every instruction set and for
// every number of rows in a tile.
#pragma once

#include "backend/cpu/isa/vec.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/pack/weight_codes.h"

namespace foretoken::FT_ISA {

// Maximum number of rows of a chunk. Each row has two sums: over the current block and over earlier
// blocks. With twelve rows (four where there are 16 vector registers), all sums stay in registers.
// With sixteen rows, two of the sums are spilled, but fewer products stall on the results of
// earlier ones.
inline constexpr int kMostChunkRows = kNative == 16 ? 16 : 4;
// The number of partial sums for each row and block. Several of them let the latencies of dependent
// additions overlap. The order of integer additions does not change their sum.
constexpr int Chains(int chunk_rows) {
  return chunk_rows <= 2 ? 4 : chunk_rows <= 4 && kNative == 16 ? 2 : 1;
}

// The address of a panel's first output in row `row` of a tile.
FT_INLINE float* OutAt(const LinearCall& c, int row, int64_t panel) {
  return c.out + row * c.out_stride + panel * kPanel;
}

// Prefetches the outputs that StorePanel will add to, which another thread may have written.
template <int R>
FT_INLINE void PrefetchOutputs(const LinearCall& c, int chunk, int64_t panel) {
  if (!c.accumulate) return;
  for (int r = chunk * R; r < c.rows && r < (chunk + 1) * R; ++r) {
    PrefetchForWriting(OutAt(c, r, panel));
  }
}

// Stores the sums of chunk `chunk` of R rows plus the bias, or adds both to the outputs
// (LinearCall::accumulate).
template <int R>
FT_INLINE void StorePanel(const LinearCall& c, int chunk, int64_t panel, const F acc[R]) {
  const int64_t n = c.outputs - panel * kPanel;
  const F bias = c.bias != nullptr ? LoadFirst(c.bias + panel * kPanel, n) : Zero();
  FT_UNROLL(16)
  for (int i = 0; i < R; ++i) {
    const int r = chunk * R + i;
    if (r >= c.rows) break;
    float* out = OutAt(c, r, panel);
    F sum = acc[i];
    if (c.accumulate) sum = LoadFirst(out, n) + sum;
    if (c.bias != nullptr) sum = sum + bias;
    StoreFirst(sum, out, n);
  }
}

// Converts a sum of products that started from the bits of the row's base to a float (kernels.h).
template <Format kFormat, int R>
FT_INLINE F Unbased(I dot, TileBlock<kFormat, R> tile, int row) {
  return AsF(dot) - Splat(tile.Base(row));
}

// Where a block of a panel lies, and its decoding.
template <Format kFormat>
struct BlockAt {
  // Whether Vector returns signed codes, code - 128 (kSignedBytesOnly).
  static constexpr bool kSigned = kTraitsOf<kFormat>.bits == 8 && kSignedBytesOnly;
  // Code vectors of a block, or of a half of it where each half has a scale.
  static constexpr int kVectors = 8 / kTraitsOf<kFormat>.halves;
  static constexpr int64_t kCodeBytes = kTraitsOf<kFormat>.code_bytes();
  static constexpr int64_t kBytes = kCodeBytes + kTraitsOf<kFormat>.high_bytes();

  const std::byte *codes, *scales;  // scales: those of the block's group
  F d;                              // in K formats, the scale that the group shares

  // The first block of a group of `count` blocks.
  FT_INLINE static BlockAt First(const PanelLayout& layout, const std::byte* group, int count) {
    return {group + layout.ScaleBytes(count), group, Codes<kFormat>::D(group)};
  }

  // Reads from every line of the group's scales. REQUIRES: this is the first block of its group.
  FT_INLINE void TouchScales() const {
    for (const std::byte* p = scales; p < codes; p += 64) Touch(p);
  }
  // Reads from every line of the block's codes.
  FT_INLINE void TouchCodes() const {
    FT_UNROLL(10)
    for (int i = 0; i < kBytes; i += 64) Touch(codes + i);
  }

  FT_INLINE I Vector(int half, int i) const {
    const std::byte* const high = codes + kCodeBytes;
    const I w = Codes<kFormat>::Vector(codes, high, half * kVectors + i);
    return kSigned ? w ^ Splat(-0x7f7f7f80) : w;
  }
  FT_INLINE F Scale(int sub, int half) const { return Codes<kFormat>::Scale(d, scales, sub, half); }
  FT_INLINE F Minimum(int sub) const { return Codes<kFormat>::Minimum(scales, sub); }
};

// Computes the integer dot products of a block, or of a half of it, with the rows of a chunk.
// codes_at(i) returns code vector i of the block or half. kDepends: whether each block's additions
// depend on those of the block before (kBlocksDepend in linear_kernels.h explains why). If so,
// running[r] is row r's sum over all blocks so far. It may overflow: only its increase by the
// current block is used.
template <Format kFormat, int R, bool kDepends, typename CodesAt>
FT_INLINE void Dots(TileBlock<kFormat, R> tile, int half, CodesAt codes_at,
                    [[maybe_unused]] I* running, I dots[R]) {
  using At = BlockAt<kFormat>;
  constexpr int kChains = kDepends ? 2 : Chains(R);
  I parts[R][kChains];
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    const I start = Splat(At::kSigned ? tile.BaseBits(r) : tile.Start(r, half));
    if constexpr (kDepends) {
      parts[r][0] = running[r];
      dots[r] = start - running[r];
    } else {
      parts[r][0] = start;
    }
    FT_UNROLL(4)
    for (int k = 1; k < kChains; ++k) parts[r][k] = Splat(0);
  }
  FT_UNROLL(8)
  for (int i = 0; i < At::kVectors; ++i) {
    const I w = codes_at(i);
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      const std::byte* four = tile.Four(r, half * At::kVectors + i);
      I& sum = parts[r][i % kChains];
      sum = At::kSigned ? Dot4Signed(sum, w, four) : Dot4(sum, w, four);
    }
  }
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    I sum = parts[r][0];
    FT_UNROLL(4)
    for (int k = 1; k < kChains; ++k) sum = sum + parts[r][k];
    if constexpr (kDepends) {
      running[r] = sum;
      dots[r] = dots[r] + sum;
    } else {
      dots[r] = sum;
    }
  }
}

// Like Dots, but first sums pairs of products in 16 bits (PairVectors).
template <Format kFormat, int R, typename CodesAt>
FT_INLINE void PairDots(TileBlock<kFormat, R> tile, int half, CodesAt codes_at, I dots[R]) {
  constexpr int kVectors = BlockAt<kFormat>::kVectors;
  constexpr int kTogether = PairVectors(kTraitsOf<kFormat>.bits);
  FT_UNROLL(4)
  for (int first = 0; first < kVectors; first += kTogether) {
    I pairs[R];
    FT_UNROLL(8)
    for (int i = first; i < first + kTogether; ++i) {
      const I w = codes_at(i);
      FT_UNROLL(16)
      for (int r = 0; r < R; ++r) {
        const std::byte* four = tile.Four(r, half * kVectors + i);
        pairs[r] = i == first ? PairProducts(w, four) : AddPairProducts(pairs[r], w, four);
      }
    }
    const TileBlock<kFormat, R> late{Opaque(tile.at)};
    FT_UNROLL(16)
    for (int r = 0; r < R; ++r) {
      dots[r] = FoldPairs(first == 0 ? Splat(late.Start(r, half)) : dots[r], pairs[r]);
    }
  }
}

// Adds the products of a block, or of a half of it, to the sums of a chunk.
template <Format kFormat, int R, bool kDepends, typename CodesAt>
FT_INLINE void AddRows(TileBlock<kFormat, R> tile, int half, CodesAt codes_at, F scale, F minimum,
                       I* running, F acc[R]) {
  I dots[R];
  if constexpr (PairVectors(kTraitsOf<kFormat>.bits) > 0) {
    PairDots<kFormat, R>(tile, half, codes_at, dots);
  } else {
    Dots<kFormat, R, kDepends>(tile, half, codes_at, running, dots);
  }
  if constexpr (kNative == 8) tile.at = Opaque(tile.at);
  FT_UNROLL(16)
  for (int r = 0; r < R; ++r) {
    acc[r] = Fma(Unbased(dots[r], tile, r), scale, acc[r]);
    if constexpr (kTraitsOf<kFormat>.has_minimum) {
      acc[r] = Fma(minimum, Splat(tile.Sum(r)), acc[r]);
    }
  }
}

// Adds the products of a block to the sums of a chunk. At: BlockAt or UnpackedBlockAt; kDepends,
// running: as in Dots.
template <Format kFormat, int R, bool kDepends = false, typename At>
FT_INLINE void AddBlock(const At& at, int sub, TileBlock<kFormat, R> tile, F acc[R],
                        I* running = nullptr) {
  F minimum = Zero();
  if constexpr (kTraitsOf<kFormat>.has_minimum) minimum = at.Minimum(sub);
  FT_UNROLL(2)
  for (int half = 0; half < kTraitsOf<kFormat>.halves; ++half) {
    AddRows<kFormat, R, kDepends>(
        tile, half, [&](int i) { return at.Vector(half, i); }, at.Scale(sub, half), minimum,
        running, acc);
  }
}

}  // namespace foretoken::FT_ISA
