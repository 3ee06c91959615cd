// Attention on the matrix unit (AMX), in bf16 products accumulated in float.
//
// Scores are computed as keys . queries^T [positions][queries]. Each lane therefore belongs to a
// query while scores become weights. The keys of a BF16 cache are used in place if they are
// consecutive rows and head_dim is a multiple of kStep. Results are weights . values. With a BF16
// cache, queries and weights are rounded to bf16. With F16 and Q8_0 caches, cached keys and values,
// queries and weights are each split into two bf16, together about 16 significant bits; of the four
// products of the parts, low x low is left out. A query's result is accumulated span by span and
// block by block, cut at absolute positions, in ascending order, so its bits do not depend on other
// queries. Results differ in the last bits from those of the AVX-512 kernels.
#pragma once

#include "backend/cpu/attention/amx_numbers.h"
#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/isa/amx_tiles.h"

namespace foretoken::FT_ISA {

// An engine of WalkSpans. kParts: bf16 values that make up one value of the cache. kQueries:
// queries of a tile, 16 or 8. With 8, a vector holds the scores of two positions; the bits are the
// same.
template <int kParts, CacheType kType, int kQueries>
class TileAttention {
 public:
  // With two parts a span has half as many positions, so that its widened keys and values still fit
  // in the L1 cache.
  static constexpr int kSpan = kParts == 2 ? 32 : FT_ISA::kSpan;
  static constexpr int kBlock = kStep, kBlocks = kSpan / kBlock;

  explicit TileAttention(const AttentionUnit& u)
      : u_(u),
        steps_((u.head_dim + kStep - 1) / kStep),
        queries_(u.row_count * u.heads),
        tiles_((queries_ + kLanes - 1) / kLanes),
        has_whole_steps_(u.head_dim % kStep == 0) {
    ScratchPieces pieces(u.scratch);
    q_ = pieces.Take<std::byte>(int64_t{kParts} * tiles_ * steps_ * kTileBytes);
    keys_ = pieces.Take<std::byte>(int64_t{kParts} * kBlocks * 2 * steps_ * kTileBytes);
    values_ = pieces.Take<std::byte>(int64_t{kParts} * kBlocks * 2 * steps_ * kTileBytes);
    weights_ = pieces.Take<std::byte>(int64_t{kParts} * 2 * kBlocks * kTileBytes);
    scores_ = pieces.Take<float>(int64_t{2} * kSpan * kLanes);
    weighted_values_ = pieces.Take<float>(int64_t{tiles_} * steps_ * kStep * kLanes);
    sums_ = pieces.Take<float>(int64_t{tiles_} * kLanes);
    tops_ = pieces.Take<float>(int64_t{tiles_} * kLanes);
    begins_ = pieces.Take<int32_t>(int64_t{tiles_} * kLanes);
    counts_ = pieces.Take<int32_t>(int64_t{tiles_} * kLanes);
    scratch_ = pieces.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    ConfigureTiles(/*rows=*/16, /*words=*/16);
    for (int tile = 0; tile < tiles_; ++tile) BeginTile(tile);
    if (kQueries == 8) {  // Weigh never writes the weights of queries 8 to 15
      for (int64_t i = 0; i < int64_t{kParts} * kBlocks * kTileBytes / 4; i += kLanes) {
        Store(Zero(), reinterpret_cast<float*>(weights_) + i);
      }
    }
  }

  void Widen(const AttentionRow& row, int from, int index) {
    RowPrefetcher prefetcher(u_, row, from + kBlock, prefetcher_.next);
    if (!has_whole_steps_) {
      WidenAll<0>(row, from, index, prefetcher);
    } else if (steps_ == 2) {
      WidenAll<2>(row, from, index, prefetcher);
    } else if (steps_ == 4) {
      WidenAll<4>(row, from, index, prefetcher);
    } else {
      WidenAll<-1>(row, from, index, prefetcher);
    }
    prefetcher_ = prefetcher;
  }

  void Attend(int row, int rows, int span_begin, int blocks) {
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
      unsigned row_lanes[2] = {};  // lanes of queries [first, last)
      for (int i = 0; i < tiles; ++i) {
        const int query = (tile + i) * kLanes;
        row_lanes[i] = LanesUpTo(last - query) & ~LanesUpTo(first - query);
        UpdateSoftmax(tile + i, i, span_begin, blocks, static_cast<__mmask16>(row_lanes[i]));
      }
      for (int i = 0; i < tiles; ++i) {
        // The content of lanes without a query does not matter.
        const unsigned lanes = row_lanes[i] | (~LanesUpTo(queries_ - (tile + i) * kLanes) & 0xffff);
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
    ReleaseTiles();
    for (int query = 0; query < queries_; ++query) {
      const F factor = Splat(1.0f / sums_[query]);
      const float* from = WeightedValues(query / kLanes, 0) + query % kLanes * kLanes;
      float* to = u_.rows[query / u_.heads].out + query % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += kStep, from += 2 * kLanes * kLanes) {
        F a = Load(from) * factor, b = Load(from + kLanes * kLanes) * factor;
        if (kType != CacheType::kQ8_0 && has_whole_steps_) RestoreOrder(a, b);
        StoreFirst(a, to + d, u_.head_dim - d);
        if (d + kLanes < u_.head_dim) StoreFirst(b, to + d + kLanes, u_.head_dim - d - kLanes);
      }
    }
  }

 private:
  static constexpr int64_t kParts64 = kParts;

  // Prefetch distance in positions.
  static constexpr int kPositionsAhead = 64;

  static unsigned LanesUpTo(int n) { return n <= 0 ? 0u : n >= kLanes ? 0xffffu : (1u << n) - 1; }

  std::byte* Q(int tile, int part, int step) const {
    return q_ + ((tile * kParts64 + part) * steps_ + step) * kTileBytes;
  }
  // The keys of half a block, sixteen positions; `half` is 2 * block or 2 * block + 1.
  std::byte* Keys(int half, int part, int step) const {
    return keys_ + ((half * kParts64 + part) * steps_ + step) * kTileBytes;
  }
  // The values of a block: sixteen elements of each position, half of step d / 2. With BF16 and F16
  // caches and whole steps, the elements are those that unpacklo (even d) or unpackhi (odd d) takes
  // from the step, and End restores their order (RestoreOrder). Otherwise they are elements [16 d,
  // 16 d + 16).
  std::byte* Values(int block, int part, int d) const {
    return values_ + ((block * kParts64 + part) * 2 * steps_ + d) * kTileBytes;
  }
  std::byte* Weights(int slot, int block, int part) const {
    return weights_ + ((slot * kBlocks + block) * kParts64 + part) * kTileBytes;
  }
  float* Scores(int slot) const { return scores_ + slot * kSpan * kLanes; }
  float* WeightedValues(int tile, int d) const {
    return weighted_values_ + (int64_t{tile} * 2 * steps_ + d) * kLanes * kLanes;
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
        // Cached F16 keys keep their order, so CutStep must make pairs of neighbouring elements.
        if (kType == CacheType::kF16 && has_whole_steps_) SplitEvenOdd(a, b);
        x[0][i] = CutStep<kParts>(a, b);
        if constexpr (kParts == 2) x[1][i] = CutPairs(LowPart(a), LowPart(b));
      }
      for (int part = 0; part < kParts; ++part) {
        StoreTransposed(x[part], reinterpret_cast<float*>(Q(tile, part, step)));
      }
    }
    for (int d = 0; d < steps_ * kStep; ++d) Store(Zero(), WeightedValues(tile, 0) + d * kLanes);
    Store(Zero(), sums_ + tile * kLanes);
    Store(Splat(kLowest), tops_ + tile * kLanes);
    for (int i = 0; i < kLanes; ++i) {
      const int query = tile * kLanes + i;
      const bool exists = query < queries_;
      begins_[query] = exists ? u_.rows[query / u_.heads].begin : 0;
      counts_[query] = exists ? u_.rows[query / u_.heads].count : 0;
    }
  }

  // Elements [d, d + 16) of a cache row. kSteps: whole steps of a head; -1: any number of whole
  // steps; 0: the last step may be partial.
  template <int kSteps>
  FT_INLINE static F LoadElements(const std::byte* row, int64_t column, int64_t d, int head_dim) {
    if constexpr (kSteps != 0) return LoadCache<kType>(row, column + d, kLanes);
    return d < head_dim ? LoadCache<kType>(row, column + d, head_dim - d) : Zero();
  }

  // Prefetches the next cache rows, one position at a time between arithmetic instructions. Issued
  // all at once, the prefetches would fill the core's queue of outstanding reads, and memory would
  // be idle afterwards.
  struct RowPrefetcher {
    RowPrefetcher() = default;
    FT_INLINE RowPrefetcher(const AttentionUnit& u, const AttentionRow& row, int from,
                            int first_unprefetched)
        : unit(&u),
          next(first_unprefetched > from ? first_unprefetched : from),
          end(from + kPositionsAhead < row.run ? from + kPositionsAhead : row.run),
          key_bytes(u.key_row_bytes),
          value_bytes(u.value_row_bytes),
          head_bytes(u.head_dim * kElement) {
      Find();
    }
    template <int kSteps>
    FT_INLINE void Next() {
      if (next >= end) return;
      const int64_t bytes = kSteps > 0 ? kSteps * kStep * kElement : head_bytes;
      Prefetch(keys, bytes);
      Prefetch(values, bytes);
      keys += key_bytes;
      values += value_bytes;
      if (++next % kCachePageRows == 0) Find();
    }
    FT_INLINE void Find() {
      if (next >= end) return;
      keys = KeysOf(*unit).Row(next) + unit->column * kElement;
      values = ValuesOf(*unit).Row(next) + unit->column * kElement;
    }
    static constexpr int64_t kElement = kType == CacheType::kQ8_0 ? 1 : 2;
    const AttentionUnit* unit = nullptr;
    int next = 0, end = 0;
    int64_t key_bytes = 0, value_bytes = 0, head_bytes = 0;
    const std::byte *keys = nullptr, *values = nullptr;
  };

  template <int kSteps>
  FT_INLINE void WidenAll(const AttentionRow& row, int from, int index, RowPrefetcher& prefetcher) {
    WidenKeys<kSteps>(row, from, 2 * index, prefetcher);
    WidenKeys<kSteps>(row, from + kLanes, 2 * index + 1, prefetcher);
    WidenValues<kSteps>(row, from, index, prefetcher);
  }

  template <int kSteps>
  FT_INLINE void WidenKeys(const AttentionRow& row, int from, int half, RowPrefetcher& prefetcher) {
    const int steps = kSteps > 0 ? kSteps : steps_, head_dim = u_.head_dim;
    const int64_t column = u_.column;
    if (kType == CacheType::kBF16 && kSteps != 0 && InSequence(row, from, kLanes)) {
      const std::byte* at = KeysOf(u_).Row(from) + 2 * column;
      key_tiles_[half] = {.at = at, .stride = u_.key_row_bytes, .step = 64};
      return;
    }
    std::byte* to = Keys(half, 0, 0);
    key_tiles_[half] = {.at = to, .stride = 64, .step = kTileBytes};
    const std::byte* rows[kLanes];
    BlockRows(u_, row, KeysOf(u_), from, kLanes, rows);
    for (int j = 0; j < kLanes; ++j, to += 64) {
      if (j % 4 == 0) prefetcher.template Next<kSteps>();
      const std::byte* const in = rows[j];
      FT_UNROLL(4)
      for (int step = 0; step < steps; ++step) {
        const int64_t d = step * kStep;
        if constexpr (kType == CacheType::kF16 && kSteps != 0) {
          __m512i high, low;
          SplitHalves(_mm512_loadu_si512(in + 2 * (column + d)), high, low);
          _mm512_store_si512(to + step * kTileBytes, high);
          _mm512_store_si512(to + (steps + step) * kTileBytes, low);
          continue;
        }
        const F a = LoadElements<kSteps>(in, column, d, head_dim);
        const F b = LoadElements<kSteps>(in, column, d + kLanes, head_dim);
        Store(CutStep<kParts>(a, b), reinterpret_cast<float*>(to + step * kTileBytes));
        if constexpr (kParts == 2) {
          Store(CutPairs(LowPart(a), LowPart(b)),
                reinterpret_cast<float*>(to + (steps + step) * kTileBytes));
        }
      }
    }
  }

  // Stores values in pairs: those of positions i and i + 16 of a block.
  template <int kSteps>
  FT_INLINE void WidenValues(const AttentionRow& row, int from, int index,
                             RowPrefetcher& prefetcher) {
    const int steps = kSteps > 0 ? kSteps : steps_, head_dim = u_.head_dim;
    const int64_t column = u_.column;
    std::byte* to = Values(index, 0, 0);
    const std::byte* rows[kBlock];
    BlockRows(u_, row, ValuesOf(u_), from, kBlock, rows);
    for (int i = 0; i < kLanes; ++i, to += 64) {
      if (kParts == 1 || i % 2 == 0) prefetcher.template Next<kSteps>();
      const std::byte *const low = rows[i], *const high = rows[i + kLanes];
      if constexpr (kType != CacheType::kQ8_0 && kSteps != 0) {
        FT_UNROLL(4)
        for (int step = 0; step < steps; ++step) {
          const int64_t at = 2 * (column + step * kStep);
          __m512i a[2] = {_mm512_loadu_si512(low + at)}, b[2] = {_mm512_loadu_si512(high + at)};
          if constexpr (kParts == 2) {
            SplitHalves(a[0], a[0], a[1]);
            SplitHalves(b[0], b[0], b[1]);
          }
          for (int part = 0; part < kParts; ++part) {
            std::byte* const tiles = to + 2 * (part * steps + step) * kTileBytes;
            _mm512_store_si512(tiles, _mm512_unpacklo_epi16(a[part], b[part]));
            _mm512_store_si512(tiles + kTileBytes, _mm512_unpackhi_epi16(a[part], b[part]));
          }
        }
      } else {
        FT_UNROLL(8)
        for (int d = 0; d < 2 * steps; ++d) {
          const F a = LoadElements<kSteps>(low, column, d * kLanes, head_dim);
          const F b = LoadElements<kSteps>(high, column, d * kLanes, head_dim);
          Store(CutPairs(a, b), reinterpret_cast<float*>(to + d * kTileBytes));
          if constexpr (kParts == 2) {
            Store(CutPairs(LowPart(a), LowPart(b)),
                  reinterpret_cast<float*>(to + (2 * steps + d) * kTileBytes));
          }
        }
      }
    }
  }

  // Calls product(part of the cached value, part of the other operand), the largest product first.
  template <typename Product>
  FT_INLINE static void EachProduct(Product product) {
    product(0, 0);
    if constexpr (kParts == 2) {
      product(0, 1);
      product(1, 0);
    }
  }

  // Scores blocks [from, to) for kTiles tiles of queries, kHalves halves of blocks at a time. Tile
  // registers 4 and 5 hold keys, 6 and 7 queries.
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
            const KeyTiles& keys = key_tiles_[half + kHalf];
            LoadTile<kKeysAt>(keys.at + (key_part * steps_ + step) * keys.step, keys.stride);
            MultiplyBf16<kSums + kHalf * kTiles, kKeysAt, 6>();
            if constexpr (kTiles == 2) MultiplyBf16<kSums + kHalf * kTiles + 1, kKeysAt, 7>();
          });
        });
      }
      EachTile<kHalves * kTiles>([&](auto i) {
        constexpr int kIndex = decltype(i)::kValue;
        float* const scores = Scores(kIndex % kTiles);
        StoreTile<kSums + kIndex>(scores + (half + kIndex / kTiles) * kLanes * kLanes, 64);
      });
    }
  }

  // Sets scores to -infinity at positions that a lane's query does not attend to.
  void Mask(int tile, float* scores, int span_begin, int blocks, __mmask16 lanes) {
    const I begin = LoadI(begins_ + tile * kLanes), count = LoadI(counts_ + tile * kLanes);
    // Lanes whose query attends to only some of the positions, or to none.
    const I partial =
        Greater(begin, Splat(span_begin)) | Greater(Splat(span_begin + blocks * kBlock), count);
    if ((_mm512_movepi32_mask(reinterpret_cast<__m512i>(partial.v[0])) & lanes) == 0) return;
    for (int j = 0; j < blocks * kBlock; ++j) {
      const I masked =
          Greater(begin, Splat(span_begin + j)) | Greater(Splat(span_begin + j + 1), count);
      float* const to = scores + j * kLanes;
      Store(Select(masked, Splat(-__builtin_inff()), Load(to)), to);
    }
  }

  // Turns a tile's scores of a span's blocks into weights, and rescales the tile's sums in `lanes`
  // to the new maxima. Exponentials are computed in base 2: `scale` includes log2(e).
  void UpdateSoftmax(int tile, int slot, int span_begin, int blocks, __mmask16 lanes) {
    float* const scores = Scores(slot);
    Mask(tile, scores, span_begin, blocks, lanes);
    const F scale = Splat(u_.scale * 1.44269504088896341f);
    const F old_tops = Load(tops_ + tile * kLanes);
    F maxima[4] = {old_tops, old_tops, old_tops, old_tops};
    for (int j = 0; j < blocks * kBlock; j += 4) {
      FT_UNROLL(4)
      for (int i = 0; i < 4; ++i) {
        maxima[i].v[0] = _mm512_max_ps(Load(scores + (j + i) * kLanes).v[0], maxima[i].v[0]);
      }
    }
    F new_tops = Max(Max(maxima[0], maxima[1]), Max(maxima[2], maxima[3]));
    if constexpr (kQueries == 8) {
      new_tops = LowerTwice(new_tops);
      lanes = static_cast<__mmask16>((lanes & 0xff) * 0x101);
    }
    F sum = Load(sums_ + tile * kLanes);
    if (_mm512_mask_cmp_ps_mask(lanes, new_tops.v[0], old_tops.v[0], _CMP_NEQ_UQ) != 0) {
      const F factor = KeepLanes(lanes, Exp2((old_tops - new_tops) * scale), Splat(1.0f));
      sum = sum * factor;
      ScaleDown(tile, factor);
      Store(KeepLanes(lanes, new_tops, old_tops), tops_ + tile * kLanes);
    }
    // REQUIRES: u_.scale <= 1 / log2(e), about 0.693. The usual scale, 1 / sqrt(head_dim),
    // satisfies this from head_dim 3 on. With a greater scale, the product overflows for a query
    // that has attended to no position yet, whose maximum is kLowest, and the weights of that
    // query become NaN.
    const F shift = Zero() - new_tops * scale;
    for (int b = 0; b < blocks; ++b) {
      sum = sum + Weigh(scores + b * kBlock * kLanes, slot, b, scale, shift);
    }
    Store(KeepLanes(lanes, sum, Load(sums_ + tile * kLanes)), sums_ + tile * kLanes);
  }

  // Multiplies a tile's results by a factor for each query.
  void ScaleDown(int tile, F factor) {
    float factors[kLanes];
    Store(factor, factors);
    float* to = WeightedValues(tile, 0);
    for (int d = 0; d < 2 * steps_; ++d) {
      for (int i = 0; i < kLanes; ++i, to += kLanes) Store(Load(to) * Splat(factors[i]), to);
    }
  }

  // Vector k of a block's scores: position k with 16 queries; positions 2 k and 2 k + 1 with 8.
  FT_INLINE static F ScoreVector(const float* scores, int k) {
    if constexpr (kQueries == 16) return Load(scores + k * kLanes);
    return LoadLowers(scores + 2 * k * kLanes, scores + (2 * k + 1) * kLanes);
  }

  // Computes a block's weights 2^(score * scale + shift), [queries][positions], and returns their
  // sums. Positions 16 apart are added first, then 8, 4, 2 and 1 apart.
  FT_INLINE F Weigh(const float* scores, int slot, int block, F scale, F shift) {
    constexpr int kApart = kQueries;    // distance of vectors whose positions are 16 apart
    const I half_unit = Splat(0x8000);  // added before truncation, to round
    F sum[4], x[kParts][kQueries];
    RowPrefetcher prefetcher = prefetcher_;
    FT_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      F part[kQueries / 4];
      FT_UNROLL(4)
      for (int j = 0; j < kQueries / 4; ++j) {
        const int k = i + 4 * j;
        const F low = Exp2(Fma(ScoreVector(scores, k), scale, shift));
        const F high = Exp2(Fma(ScoreVector(scores, k + kApart), scale, shift));
        part[j] = low + high;
        prefetcher.template Next<0>();
        if (kQueries == 8) prefetcher.template Next<0>();
        if constexpr (kParts == 1) {
          x[0][k] = CutPairs(AsF(AsI(low) + half_unit), AsF(AsI(high) + half_unit));
        } else {
          x[0][k] = CutPairs(low, high);
          x[1][k] = CutPairs(LowPart(low), LowPart(high));
        }
      }
      if constexpr (kQueries == 16) {
        sum[i] = (part[0] + part[2]) + (part[1] + part[3]);
      } else {
        sum[i] = part[0] + part[1];
      }
    }
    prefetcher_ = prefetcher;
    for (int part = 0; part < kParts; ++part) {
      float* const to = reinterpret_cast<float*>(Weights(slot, block, part));
      if constexpr (kQueries == 16) {
        StoreTransposed(x[part], to);
      } else {
        StoreTransposedHalves(x[part], to);
      }
    }
    const F all = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    return kQueries == 16 ? all : all + SwapHalves(all);
  }

  // Adds the blocks' weighted values to tiles [d, d + kWide) of a query tile's results (order: see
  // Values). Tile registers 4 and 5 hold values, 6 weights.
  template <int kWide>
  FT_INLINE void Mix(int tile, int slot, int d, int blocks, unsigned lanes) {
    float* const weighted = WeightedValues(tile, d);
    EachTile<kWide>([&](auto i) {
      constexpr int kIndex = decltype(i)::kValue;
      LoadTile<kSums + kIndex>(weighted + kIndex * kLanes * kLanes, 64);
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
      float* const to = weighted + kIndex * kLanes * kLanes;
      if (lanes == 0xffff) return StoreTile<kSums + kIndex>(to, 64);
      alignas(64) float all[kLanes][kLanes];
      StoreTile<kSums + kIndex>(all, 64);
      for (int j = 0; j < kLanes; ++j) {
        if ((lanes >> j & 1) != 0) Store(Load(all[j]), to + j * kLanes);
      }
    });
  }

  const AttentionUnit& u_;
  int steps_;  // steps of a head, of kStep elements each
  int queries_, tiles_;
  bool has_whole_steps_;  // head_dim is a multiple of kStep
  RowPrefetcher prefetcher_;
  // Where the key tiles of sixteen positions lie. `stride`: bytes between rows; `step`: bytes
  // between the steps of a head.
  struct KeyTiles {
    const std::byte* at;
    int64_t stride, step;
  } key_tiles_[2 * kBlocks];
  // Tiles of bf16: queries [tiles][parts][steps], keys [halves][parts][steps], values
  // [blocks][parts][2 steps], weights [2][blocks][parts].
  std::byte *q_, *keys_, *values_, *weights_;
  float *scores_, *weighted_values_;  // [2][kSpan][16] and [tiles][2 steps][16][16]
  float *sums_, *tops_;               // [tiles][16]
  int32_t *begins_, *counts_;         // [tiles][16] bounds of each query's positions
  int64_t scratch_;
};

template <int kParts, CacheType kType>
AttentionOp OpOfQueries(const AttentionUnit& u) {
  using Few = TileAttention<kParts, kType, 8>;
  using Many = TileAttention<kParts, kType, 16>;
  if (u.row_count * u.heads <= 8) return EngineOp<Few>();
  return EngineOp<Many>();
}

// Uses the matrix unit if keys and values have the same type, other than F32; otherwise AVX-512.
inline AttentionOp OpOf(const AttentionUnit& u) {
  if (u.key_type == u.value_type) {
    if (u.key_type == CacheType::kBF16) return OpOfQueries<1, CacheType::kBF16>(u);
    if (u.key_type == CacheType::kF16) return OpOfQueries<2, CacheType::kF16>(u);
    if (u.key_type == CacheType::kQ8_0) return OpOfQueries<2, CacheType::kQ8_0>(u);
  }
  return Avx512Kernels().attention;
}

inline void FillTileAttention(Kernels& k) {
  k.attention = {[](const AttentionUnit& u) { return OpOf(u).scratch(u); },
                 [](const AttentionUnit& u) { OpOf(u).run(u); }};
  k.few_queries = kLanes;
}

}  // namespace foretoken::FT_ISA
