// Attention on the matrix unit (AMX), in products of bf16 with float sums.
//
// Scores are computed as keys . queries^T [positions][queries], so that a lane is a query while
// they become weights, and keys are used as they lie in a BF16 cache; results as weights . values.
// With a BF16 cache, queries and weights are rounded to bf16. Numbers of F16 and Q8_0 caches,
// queries and weights become sums of two bf16 (16 bits), and three of the four products are taken.
// A query's result is folded over spans and steps of absolute positions as in attention_kernels.h,
// so it has the same bits whatever is beside it; they differ from those of AVX-512.
#pragma once

#include "backend/cpu/amx_tiles.h"
#include "backend/cpu/attention_kernels.h"

namespace foretoken::FT_ISA {

inline constexpr int64_t kTileBytes = 1024;  // 16 rows of 64 bytes
inline constexpr int kStep = 32;             // bf16 in a row of a tile

FT_INLINE I HighHalf(F x) { return AsI(x) & Splat(-65536); }
// What cutting x off to a bf16 leaves out, exactly.
FT_INLINE F LowPart(F x) { return x - AsF(HighHalf(x)); }

// bf16 of a and b, cut off: lanes of a in the low halves, of b in the high ones.
FT_INLINE F CutPairs(F a, F b) { return AsF(ShiftRight(AsI(a), 16) | HighHalf(b)); }

// The order of a step's 32 elements: in pairs (i, i + 16) where numbers have two parts, as they lie
// where they have one, rounded.
template <int kParts>
FT_INLINE F CutStep(F a, F b) {
  if constexpr (kParts == 2) return CutPairs(a, b);
  F r;
  r.v[0] = reinterpret_cast<NativeF>(_mm512_cvtne2ps_pbh(b.v[0], a.v[0]));
  return r;
}

// 2^x within 3e-6; 0 below 2^-126.
FT_INLINE F Exp2(F x) {
  const F turns = x + Splat(0x1.8p23f);
  const F f = x - (turns - Splat(0x1.8p23f));
  F p = Splat(9.582851082e-3f);
  p = MulAdd(p, f, Splat(5.590642989e-2f));
  p = MulAdd(p, f, Splat(0.2402409911f));
  p = MulAdd(p, f, Splat(0.6931241751f));
  p = MulAdd(p, f, Splat(1.0f));
  const __mmask16 some = _mm512_cmp_ps_mask(x.v[0], _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  F r;
  r.v[0] = _mm512_castsi512_ps(_mm512_maskz_add_epi32(
      some, _mm512_castps_si512(p.v[0]), _mm512_slli_epi32(_mm512_castps_si512(turns.v[0]), 23)));
  return r;
}

FT_INLINE F KeepLanes(__mmask16 lanes, F a, F b) {  // a in `lanes`, b elsewhere
  F r;
  r.v[0] = _mm512_mask_blend_ps(lanes, b.v[0], a.v[0]);
  return r;
}

// The engine of WalkSpans. kParts: bf16 numbers that make up one number of the cache.
template <int kParts, CacheType kType>
class TileAttention {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kStep, kBlocks = kSpan / kBlock;

  explicit TileAttention(const AttentionUnit& u)
      : u_(u),
        steps_((u.head_dim + kStep - 1) / kStep),
        queries_(u.row_count * u.heads),
        tiles_((queries_ + kLanes - 1) / kLanes) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<std::byte>(int64_t{kParts} * tiles_ * steps_ * kTileBytes);
    keys_ = pieces.Take<std::byte>(int64_t{kParts} * kBlocks * 2 * steps_ * kTileBytes);
    values_ = pieces.Take<std::byte>(int64_t{kParts} * kBlocks * 2 * steps_ * kTileBytes);
    weights_ = pieces.Take<std::byte>(int64_t{kParts} * 2 * kBlocks * kTileBytes);
    scores_ = pieces.Take<float>(int64_t{2} * kSpan * kLanes);
    mixed_ = pieces.Take<float>(int64_t{tiles_} * steps_ * kStep * kLanes);
    sums_ = pieces.Take<float>(int64_t{tiles_} * kLanes);
    tops_ = pieces.Take<float>(int64_t{tiles_} * kLanes);
    begins_ = pieces.Take<int32_t>(int64_t{tiles_} * kLanes);
    counts_ = pieces.Take<int32_t>(int64_t{tiles_} * kLanes);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    ConfigureTiles(/*rows=*/16, /*groups=*/16);
    for (int tile = 0; tile < tiles_; ++tile) BeginTile(tile);
  }

  void Widen(const AttentionRow& row, int from, int index) {
    if (u_.head_dim % kStep == 0) {
      WidenKeys<true>(row, from, index);
      WidenValues<true>(row, from, index);
    } else {
      WidenKeys<false>(row, from, index);
      WidenValues<false>(row, from, index);
    }
  }

  void Attend(int row, int rows, int at, int blocks) {
    const int first = row * u_.heads, last = first + rows * u_.heads;  // queries
    for (int tile = first / kLanes; tile * kLanes < last; tile += 2) {
      const int tiles = (tile + 1) * kLanes < last ? 2 : 1;
      if (tiles == 2) {
        Score<2, 2>(tile, 0, blocks);
      } else {
        const int pairs = blocks / 2 * 2;
        Score<4, 1>(tile, 0, pairs);
        Score<2, 1>(tile, pairs, blocks);
      }
      for (int i = 0; i < tiles; ++i) {
        const int query = (tile + i) * kLanes;
        const unsigned before = LanesUpTo(first - query), upto = LanesUpTo(last - query);
        Fold(tile + i, i, at, blocks, static_cast<__mmask16>(upto & ~before));
        // What lanes without a query hold does not matter.
        const unsigned lanes = (upto & ~before) | (~LanesUpTo(queries_ - query) & 0xffff);
        for (int d = 0; d < 2 * steps_; d += 4) {
          if (d + 4 <= 2 * steps_) {
            Mix<4>(tile + i, i, d, blocks, lanes);
          } else {
            Mix<2>(tile + i, i, d, blocks, lanes);
          }
        }
      }
    }
  }

  void End() {
    asm volatile("tilerelease");
    for (int query = 0; query < queries_; ++query) {
      const F factor = Splat(1.0f / sums_[query]);
      const float* from = Mixed(query / kLanes, 0) + query % kLanes * kLanes;
      float* to = u_.rows[query / u_.heads].out + query % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += kLanes, from += kLanes * kLanes) {
        StoreFirst(Load(from) * factor, to + d, u_.head_dim - d);
      }
    }
  }

 private:
  static constexpr int64_t kParts64 = kParts;

  static unsigned LanesUpTo(int n) { return n <= 0 ? 0u : n >= kLanes ? 0xffffu : (1u << n) - 1; }

  std::byte* Q(int tile, int part, int step) const {
    return q_ + ((tile * kParts64 + part) * steps_ + step) * kTileBytes;
  }
  // Sixteen positions, half 2 * block or 2 * block + 1.
  std::byte* Keys(int half, int part, int step) const {
    return keys_ + ((half * kParts64 + part) * steps_ + step) * kTileBytes;
  }
  // Elements [16 d, 16 d + 16) of the positions of a block.
  std::byte* Values(int block, int part, int d) const {
    return values_ + ((block * kParts64 + part) * 2 * steps_ + d) * kTileBytes;
  }
  std::byte* Weights(int slot, int block, int part) const {
    return weights_ + ((slot * kBlocks + block) * kParts64 + part) * kTileBytes;
  }
  float* Scores(int slot) const { return scores_ + slot * kSpan * kLanes; }
  float* Mixed(int tile, int d) const {
    return mixed_ + (int64_t{tile} * 2 * steps_ + d) * kLanes * kLanes;
  }

  void BeginTile(int tile) {
    for (int step = 0; step < steps_; ++step) {
      F x[kParts][kLanes];
      for (int i = 0; i < kLanes; ++i) {
        F a = Zero(), b = Zero();
        if (const int query = tile * kLanes + i; query < queries_) {
          const float* q = u_.rows[query / u_.heads].q + query % u_.heads * u_.head_dim;
          const int d = step * kStep, n = u_.head_dim - d;
          a = LoadFirst(q + d, n);
          if (n > kLanes) b = LoadFirst(q + d + kLanes, n - kLanes);
        }
        x[0][i] = CutStep<kParts>(a, b);
        if constexpr (kParts == 2) x[1][i] = CutPairs(LowPart(a), LowPart(b));
      }
      for (int part = 0; part < kParts; ++part) {
        StoreTransposed(x[part], reinterpret_cast<float*>(Q(tile, part, step)));
      }
    }
    for (int d = 0; d < steps_ * kStep; ++d) Store(Zero(), Mixed(tile, 0) + d * kLanes);
    Store(Zero(), sums_ + tile * kLanes);
    Store(Splat(kLowest), tops_ + tile * kLanes);
    for (int i = 0; i < kLanes; ++i) {
      const int query = tile * kLanes + i;
      const bool some = query < queries_;
      begins_[query] = some ? u_.rows[query / u_.heads].begin : 0;
      counts_[query] = some ? u_.rows[query / u_.heads].count : 0;
    }
  }

  // Elements [d, d + 16) of a cache row.
  template <bool kWhole>
  FT_INLINE F LoadElements(const std::byte* row, int64_t d) const {
    if (kWhole) return LoadCache<kType>(row, u_.column + d, kLanes);
    return d < u_.head_dim ? LoadCache<kType>(row, u_.column + d, u_.head_dim - d) : Zero();
  }

  // kWhole: heads are whole steps.
  template <bool kWhole>
  void WidenKeys(const AttentionRow& row, int from, int index) {
    const CacheView cache = KeysOf(u_);
    for (int j = 0; j < kBlock; ++j) {
      AskFor<kType>(u_, row, cache, from + j + kRowsAhead);
      const std::byte* in = BlockRow(u_, row, cache, from, j);
      std::byte* to = Keys(2 * index + j / kLanes, 0, 0) + j % kLanes * 64;
      for (int step = 0; step < steps_; ++step, to += kTileBytes) {
        const int64_t d = step * kStep;
        if constexpr (kType == CacheType::kBF16 && kWhole) {
          __builtin_memcpy(to, in + 2 * (u_.column + d), 64);
          continue;
        }
        const F a = LoadElements<kWhole>(in, d), b = LoadElements<kWhole>(in, d + kLanes);
        Store(CutStep<kParts>(a, b), reinterpret_cast<float*>(to));
        if constexpr (kParts == 2) {
          Store(CutPairs(LowPart(a), LowPart(b)),
                reinterpret_cast<float*>(to + steps_ * kTileBytes));
        }
      }
    }
  }

  template <bool kWhole>
  void WidenValues(const AttentionRow& row, int from, int index) {
    const CacheView cache = ValuesOf(u_);
    for (int pair = 0; pair < kBlock / 2; ++pair) {
      AskFor<kType>(u_, row, cache, from + 2 * pair + kRowsAhead);
      AskFor<kType>(u_, row, cache, from + 2 * pair + kRowsAhead + 1);
      const std::byte* even = BlockRow(u_, row, cache, from, 2 * pair);
      const std::byte* odd = BlockRow(u_, row, cache, from, 2 * pair + 1);
      std::byte* to = Values(index, 0, 0) + pair * 64;
      for (int d = 0; d < 2 * steps_; ++d, to += kTileBytes) {
        const F a = LoadElements<kWhole>(even, d * kLanes);
        const F b = LoadElements<kWhole>(odd, d * kLanes);
        Store(CutPairs(a, b), reinterpret_cast<float*>(to));
        if constexpr (kParts == 2) {
          Store(CutPairs(LowPart(a), LowPart(b)),
                reinterpret_cast<float*>(to + 2 * steps_ * kTileBytes));
        }
      }
    }
  }

  // Calls product(part of the cache's number, part of the other): the large ones first.
  template <typename Product>
  FT_INLINE static void EachProduct(Product product) {
    product(0, 0);
    if constexpr (kParts == 2) {
      product(0, 1);
      product(1, 0);
    }
  }

  // Scores of blocks [from, to) for kTiles tiles of queries, kHalves halves of blocks at a time.
  template <int kHalves, int kTiles>
  FT_INLINE void Score(int tile, int from, int to) {
    for (int half = 2 * from; half < 2 * to; half += kHalves) {
      EachTile<kHalves * kTiles>([](auto i) { ZeroTile<kSums + decltype(i)::kValue>(); });
      for (int step = 0; step < steps_; ++step) {
        EachProduct([&](int key_part, int q_part) {
          LoadTile<6>(Q(tile, q_part, step), 64);
          if constexpr (kTiles == 2) LoadTile<7>(Q(tile + 1, q_part, step), 64);
          EachTile<kHalves>([&](auto h) {
            constexpr int kHalf = decltype(h)::kValue, kKeysAt = 4 + kHalf % 2;
            LoadTile<kKeysAt>(Keys(half + kHalf, key_part, step), 64);
            MultiplyBf16<kSums + kHalf * kTiles, kKeysAt, 6>();
            if constexpr (kTiles == 2) MultiplyBf16<kSums + kHalf * kTiles + 1, kKeysAt, 7>();
          });
        });
      }
      EachTile<kHalves * kTiles>([&](auto i) {
        constexpr int kIndex = decltype(i)::kValue;
        float* to_scores = Scores(kIndex % kTiles) + (half + kIndex / kTiles) * kLanes * kLanes;
        StoreTile<kSums + kIndex>(to_scores, 64);
      });
    }
  }

  // Scores of what a lane does not see become -infinity.
  void Mask(int tile, int slot, int at, int blocks, __mmask16 lanes) {
    const I begin = LoadI(begins_ + tile * kLanes), count = LoadI(counts_ + tile * kLanes);
    const I hides = Greater(begin, Splat(at)) | Greater(Splat(at + blocks * kBlock), count);
    if ((_mm512_movepi32_mask(reinterpret_cast<__m512i>(hides.v[0])) & lanes) == 0) return;
    float* scores = Scores(slot);
    for (int j = 0; j < blocks * kBlock; ++j) {
      const I hidden = Greater(begin, Splat(at + j)) | Greater(Splat(at + j + 1), count);
      float* const to = scores + j * kLanes;
      Store(Select(hidden, Splat(-__builtin_inff()), Load(to)), to);
    }
  }

  // Turns the scores of a tile's blocks into weights, and brings its sums in `lanes` to the new
  // maximum. Exponentials are powers of two.
  void Fold(int tile, int slot, int at, int blocks, __mmask16 lanes) {
    Mask(tile, slot, at, blocks, lanes);
    const float* scores = Scores(slot);
    const F scale = Splat(u_.scale * 1.44269504088896341f);
    const F before = Load(tops_ + tile * kLanes);
    F top[4] = {before, before, before, before};
    for (int j = 0; j < blocks * kBlock; j += 4) {
      FT_UNROLL(4)
      for (int i = 0; i < 4; ++i) {
        top[i].v[0] = _mm512_max_ps(Load(scores + (j + i) * kLanes).v[0], top[i].v[0]);
      }
    }
    const F highest = Max(Max(top[0], top[1]), Max(top[2], top[3]));
    F sum = Load(sums_ + tile * kLanes);
    if (_mm512_mask_cmp_ps_mask(lanes, highest.v[0], before.v[0], _CMP_NEQ_UQ) != 0) {
      const F factor = KeepLanes(lanes, Exp2((before - highest) * scale), Splat(1.0f));
      sum = sum * factor;
      ScaleDown(tile, factor);
      Store(KeepLanes(lanes, highest, before), tops_ + tile * kLanes);
    }
    const F shift = Zero() - highest * scale;
    for (int b = 0; b < blocks; ++b) sum = sum + Weigh(slot, b, scale, shift);
    Store(KeepLanes(lanes, sum, Load(sums_ + tile * kLanes)), sums_ + tile * kLanes);
  }

  // Multiplies a tile's results, a factor a query.
  void ScaleDown(int tile, F factor) {
    float factors[kLanes];
    Store(factor, factors);
    float* to = Mixed(tile, 0);
    for (int d = 0; d < 2 * steps_; ++d) {
      for (int i = 0; i < kLanes; ++i, to += kLanes) Store(Load(to) * Splat(factors[i]), to);
    }
  }

  // Makes weights 2^(score * scale + shift) of a block, [queries][positions], and returns their
  // sums.
  FT_INLINE F Weigh(int slot, int block, F scale, F shift) {
    const float* from = Scores(slot) + block * kBlock * kLanes;
    const I half_unit = Splat(0x8000);  // added before the cut: rounds
    F sum[2] = {Zero(), Zero()}, x[kParts][kLanes];
    FT_UNROLL(4)
    for (int i = 0; i < kLanes; ++i, from += 2 * kLanes) {
      const F even = Exp2(Fma(Load(from), scale, shift));
      const F odd = Exp2(Fma(Load(from + kLanes), scale, shift));
      sum[0] = sum[0] + even;
      sum[1] = sum[1] + odd;
      if constexpr (kParts == 1) {
        x[0][i] = CutPairs(AsF(AsI(even) + half_unit), AsF(AsI(odd) + half_unit));
      } else {
        x[0][i] = CutPairs(even, odd);
        x[1][i] = CutPairs(LowPart(even), LowPart(odd));
      }
    }
    for (int part = 0; part < kParts; ++part) {
      StoreTransposed(x[part], reinterpret_cast<float*>(Weights(slot, block, part)));
    }
    return sum[0] + sum[1];
  }

  // Adds the blocks' values, weighted, to elements [16 d, 16 (d + kWide)) of a tile's results.
  template <int kWide>
  FT_INLINE void Mix(int tile, int slot, int d, int blocks, unsigned lanes) {
    float* const mixed = Mixed(tile, d);
    EachTile<kWide>([&](auto i) {
      constexpr int kIndex = decltype(i)::kValue;
      LoadTile<kSums + kIndex>(mixed + kIndex * kLanes * kLanes, 64);
    });
    for (int b = 0; b < blocks; ++b) {
      EachProduct([&](int value_part, int weight_part) {
        LoadTile<6>(Weights(slot, b, weight_part), 64);
        EachTile<kWide>([&](auto i) {
          constexpr int kIndex = decltype(i)::kValue, kValuesAt = 4 + kIndex % 2;
          LoadTile<kValuesAt>(Values(b, value_part, d + kIndex), 64);
          MultiplyBf16<kSums + kIndex, 6, kValuesAt>();
        });
      });
    }
    EachTile<kWide>([&](auto i) {
      constexpr int kIndex = decltype(i)::kValue;
      float* const to = mixed + kIndex * kLanes * kLanes;
      if (lanes == 0xffff) return StoreTile<kSums + kIndex>(to, 64);
      alignas(64) float all[kLanes][kLanes];
      StoreTile<kSums + kIndex>(all, 64);
      for (int j = 0; j < kLanes; ++j) {
        if ((lanes >> j & 1) != 0) Store(Load(all[j]), to + j * kLanes);
      }
    });
  }

  const AttentionUnit& u_;
  int steps_;  // of a head's elements
  int queries_, tiles_;
  // Tiles of bf16: queries [tiles][parts][steps], keys [halves][parts][steps], values
  // [blocks][parts][2 steps], weights [2][blocks][parts].
  std::byte *q_, *keys_, *values_, *weights_;
  float *scores_, *mixed_;     // [2][kSpan][16] and [tiles][2 steps][16][16]
  float *sums_, *tops_;        // [tiles][16]
  int32_t *begins_, *counts_;  // [tiles][16] what each query sees
  int64_t scratch_;
};

using Bf16Attention = TileAttention<1, CacheType::kBF16>;
using HalfAttention = TileAttention<2, CacheType::kF16>;
using Q8Attention = TileAttention<2, CacheType::kQ8_0>;

// Keys and values of one type that is not F32 go through the matrix unit.
inline AttentionOp OpOf(const AttentionUnit& u) {
  if (u.key_type == u.value_type) {
    if (u.key_type == CacheType::kBF16) {
      return {&AttentionScratch<Bf16Attention>, &RunAttention<Bf16Attention>};
    }
    if (u.key_type == CacheType::kF16) {
      return {&AttentionScratch<HalfAttention>, &RunAttention<HalfAttention>};
    }
    if (u.key_type == CacheType::kQ8_0) {
      return {&AttentionScratch<Q8Attention>, &RunAttention<Q8Attention>};
    }
  }
  return Avx512Kernels().attention;
}

inline void FillTileAttention(Kernels& k) {
  k.attention = {[](const AttentionUnit& u) { return OpOf(u).scratch(u); },
                 [](const AttentionUnit& u) { OpOf(u).run(u); }};
}

}  // namespace foretoken::FT_ISA
