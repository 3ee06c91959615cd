// Attention over Q8_0 caches with AVX-512 VNNI, for any number of rows. Keys and values are
// multiplied as int8 codes, without being converted to floats: four products per instruction and
// lane.
//
// Queries are rounded to 15-bit integers, with one power-of-two scale for each block of 32
// elements. Each attention weight is multiplied by the scales of the value blocks that it applies
// to. These products are rounded to 16-bit integers, with one power-of-two scale for each query,
// span and block of 32 elements of the head. Each integer is split into two bytes, whose products
// with codes are summed exactly, in 32 bits. The rounding error is at most 2^-14 of a block's
// largest query element and 2^-16 of a span's largest value scale, far below that of storing the
// cache in 8 bits.
//
// Spans are accumulated as in VectorAttention, except that the softmax uses base 2 and rounds its
// running maxima up to integers, so sums are rescaled by powers of two.
#pragma once

#include "backend/cpu/attention/attention_kernels.h"

namespace foretoken::FT_ISA {

// An engine for WalkSpans. It supports the attention units for which Takes returns true. A piece is
// the 32 elements of a head that form one Q8_0 block of a cache row; `s` counts the pieces of a
// head.
class ByteAttention {
 public:
  static constexpr int kSpan = FT_ISA::kSpan, kBlock = kBlockPositions;

  static bool Takes(const AttentionUnit& u) {
    return u.key_type == CacheType::kQ8_0 && u.value_type == CacheType::kQ8_0 &&
           u.head_dim % kPiece == 0 && u.head_dim <= kMostPieces * kPiece && u.column % kPiece == 0;
  }

  // REQUIRES: Takes(u).
  explicit ByteAttention(const AttentionUnit& u)
      : u_(u),
        pieces_(u.head_dim / kPiece),
        queries_(u.row_count * u.heads),
        prefetcher_(u, u.prefetches_near),
        prefetches_early_(queries_ < (u.prefetches_near ? 2 : 1) * kQueriesTogether) {
    ScratchPieces memory(u.scratch);
    const int64_t query_pieces = int64_t{queries_} * pieces_;
    q_ = memory.Take<std::byte>(query_pieces * 2 * kPiece);
    q_scales_ = memory.Take<float>(query_pieces);
    q_starts_ = memory.Take<int32_t>(query_pieces);
    weighted_values_ = memory.Take<float>(query_pieces * kPiece);
    sums_ = memory.Take<float>(int64_t{queries_} * kLanes);
    tops_ = memory.Take<float>(queries_);
    scores_ = memory.Take<float>(kQueriesTogether * kSpan);
    weights_ = memory.Take<std::byte>(int64_t{kQueriesTogether} * pieces_ * 2 * kSpan);
    weight_scales_ = memory.Take<float>(int64_t{kLanes} * pieces_);
    keys_ = memory.Take<std::byte>(int64_t{kSpan} * u.head_dim);
    values_ = memory.Take<std::byte>(int64_t{kSpan} * u.head_dim);
    key_copies_ = memory.Take<std::byte>(kBlockPositions * kStoredBytes * pieces_);
    value_copies_ = memory.Take<std::byte>(kBlockPositions * kStoredBytes * pieces_);
    key_scales_ = memory.Take<float>(int64_t{kSpan} * pieces_);
    value_scales_ = memory.Take<float>(int64_t{kSpan} * pieces_);
    relative_scales_ = memory.Take<float>(int64_t{kSpan} * pieces_);
    scratch_ = memory.used();
  }
  int64_t scratch() const { return scratch_; }

  void Begin() {
    for (int i = 0; i < queries_; ++i) {
      const float* q = u_.rows[i / u_.heads].q + i % u_.heads * u_.head_dim;
      for (int s = 0; s < pieces_; ++s) RoundQuery(q + s * kPiece, i * pieces_ + s);
      for (int d = 0; d < u_.head_dim; d += kLanes)
        Store(Zero(), weighted_values_ + i * u_.head_dim + d);
      Store(Zero(), sums_ + i * kLanes);
      tops_[i] = kLowest;
    }
  }

  void Widen(const AttentionRow& row, int from, int index) {
    if (index == 0) prefetcher_.SetRange(from + kSpan, from + 2 * kSpan, row.run);
    const Rows keys = RowsOf(KeysOf(u_), row, from, key_copies_);
    const Rows values = RowsOf(ValuesOf(u_), row, from, value_copies_);
    uint16_t key_scales[kMostPieces * kBlockPositions], value_scales[kMostPieces * kBlockPositions];
    CopyScales(keys, key_scales);
    CopyScales(values, value_scales);
    int s = 0;
    for (; s + 2 <= pieces_; s += 2) ArrangePieces<2>(keys, values, index, s);
    if (s < pieces_) ArrangePieces<1>(keys, values, index, s);
    // Scales are widened only now. A load that covers several of CopyScales' two-byte stores cannot
    // take its data from the store buffer, and stalls until these stores have reached the cache.
    for (s = 0; s < pieces_; ++s) {
      WidenScales(key_scales + s * kBlockPositions,
                  key_scales_ + s * kSpan + index * kBlockPositions);
      WidenScales(value_scales + s * kBlockPositions,
                  value_scales_ + s * kSpan + index * kBlockPositions);
    }
  }

  void Attend(int row, int rows, int span_begin, int blocks) {
    const int last = (row + rows) * u_.heads;
    for (int first = row * u_.heads, n; first < last; first += n) {
      n = CountTogether(first, last, span_begin, blocks);
      int i = 0;
      for (; i + 4 <= n; i += 4) Score<4>(first + i, i, blocks);
      for (; i < n; ++i) Score<1>(first + i, i, blocks);
      UpdateSoftmax(first, n, span_begin, blocks);
      i = 0;
      for (; i + 4 <= n; i += 4) Mix<4>(first + i, i, blocks);
      for (; i < n; ++i) Mix<1>(first + i, i, blocks);
    }
  }

  void End() {
    for (int i = 0; i < queries_; ++i) {
      const __m128 factor = _mm_set1_ps(1.0f / Sum(Load(sums_ + i * kLanes)));
      float* const out = u_.rows[i / u_.heads].out + i % u_.heads * u_.head_dim;
      for (int d = 0; d < u_.head_dim; d += 4) {
        const __m128 elements = _mm_loadu_ps(weighted_values_ + i * u_.head_dim + d);
        _mm_storeu_ps(out + d / kPiece * kPiece + ElementAt(d % kPiece),
                      _mm_mul_ps(elements, factor));
      }
    }
  }

 private:
  static constexpr int kPiece = 32;  // elements of a piece
  // Bytes of a piece in the cache: its scale, then its codes.
  static constexpr int64_t kStoredBytes = kPiece + 2;
  static constexpr int kMostPieces = 8;
  static constexpr int kQueriesTogether = 8;  // queries that are processed together

  // The offset in values_ of piece s of the four positions from 4 * group on. The layout is
  // [positions / 4][pieces][32][4] bytes, with the 32 elements in the order of ElementAt.
  int64_t ValueAt(int group, int s) const { return (int64_t{group} * pieces_ + s) * 4 * kPiece; }
  // The element of a piece that InterleaveValues stores in place d. Groups of four elements stay
  // together.
  static constexpr int ElementAt(int d) { return d / 8 * 4 + d / 4 % 2 * 16 + d % 4; }

  // The number of queries from `first` on that are processed together, up to kQueriesTogether. If
  // `first` attends to all positions of the span's blocks, so do the others. Otherwise the others
  // attend to the same positions as `first`.
  int CountTogether(int first, int last, int span_begin, int blocks) const {
    int n = u_.heads - first % u_.heads;
    if (AttendsToAll(first, span_begin, blocks)) {
      while (n < kQueriesTogether && first + n < last &&
             AttendsToAll(first + n, span_begin, blocks))
        n += u_.heads;
    } else {
      const AttentionRow& row = u_.rows[first / u_.heads];
      while (n < kQueriesTogether && first + n < last &&
             HaveSamePositions(row, u_.rows[(first + n) / u_.heads])) {
        n += u_.heads;
      }
    }
    n = n < kQueriesTogether ? n : kQueriesTogether;
    return n < last - first ? n : last - first;
  }

  // Returns, in each lane, the smallest power of two by which `top` can be divided to become less
  // than 2^bits, and sets `inverse` to its inverse. Both are NaN where `top` is not finite. A `top`
  // below 2^-100 gets the scale of 2^-100.
  FT_INLINE static F ScaleFor(F top, int bits, F& inverse) {
    const I exponent = ShiftRight(AsI(top), 23);
    const I not_finite = Greater(exponent, Splat(254));
    const I scale_exponent =
        Select(Greater(exponent, Splat(27)), exponent, Splat(27)) - Splat(bits - 1);
    const I nan = Splat(0x7fc00000);
    inverse = AsF(Select(not_finite, nan, ShiftLeft(Splat(254) - scale_exponent, 23)));
    return AsF(Select(not_finite, nan, ShiftLeft(scale_exponent, 23)));
  }

  // Lane i of the result, for i < kQueriesTogether, is the largest lane of x[i].
  FT_INLINE static F Largest(const F x[kQueriesTogether]) {
    __m512 two[4];
    FT_UNROLL(4)
    for (int k = 0; k < 4; ++k) {
      const __m512 a = x[2 * k].v[0], b = x[2 * k + 1].v[0];
      two[k] = _mm512_max_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    }
    // [k]: each 128 bits hold the maxima of their own lanes of x[4 k] ... x[4 k + 3].
    __m512 four[2];
    FT_UNROLL(2)
    for (int k = 0; k < 2; ++k) {
      const __m512d a = _mm512_castps_pd(two[2 * k]), b = _mm512_castps_pd(two[2 * k + 1]);
      four[k] = _mm512_max_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)),
                              _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
    }
    const __m512 halves = _mm512_max_ps(_mm512_shuffle_f32x4(four[0], four[1], 0x88),
                                        _mm512_shuffle_f32x4(four[0], four[1], 0xdd));
    const __m512 all = _mm512_max_ps(halves, _mm512_shuffle_f32x4(halves, halves, 0xb1));
    F r;
    r.v[0] = _mm512_shuffle_f32x4(all, all, 0x08);
    return r;
  }

  FT_INLINE static I Rounded(F x) {
    I r;
    r.v[0] = reinterpret_cast<NativeI>(_mm512_cvtps_epi32(x.v[0]));
    return r;
  }

  // Rounds a piece of a query to integers 128 h + l, and stores them as [32] h and [32] l. Also
  // computes the start value of their sums of products, -128 * (sum of the integers): TransposeKeys
  // stores every code of a key 128 too high.
  void RoundQuery(const float* q, int query_piece) {
    const F a = Load(q), b = Load(q + kLanes);
    const bool is_finite = Sum(Unordered(a - a) | Unordered(b - b)) == 0;
    const float top = is_finite ? MaxLane(Max(Abs(a), Abs(b))) : __builtin_nanf("");
    F inverse;
    constexpr float kLog2OfE = 1.44269504088896341f;  // makes scores exponents of base 2
    StoreFirst(ScaleFor(Splat(top), 14, inverse) * Splat(u_.scale * kLog2OfE),
               q_scales_ + query_piece, 1);
    I sum = Splat(0);
    std::byte* const to = q_ + query_piece * 2 * kPiece;
    FT_UNROLL(2)
    for (int i = 0; i < 2; ++i) {
      I integers = Rounded((i == 0 ? a : b) * inverse);
      integers.v[0] = reinterpret_cast<NativeI>(_mm512_min_epi32(
          reinterpret_cast<__m512i>(integers.v[0]), _mm512_set1_epi32(128 * 128 - 1)));
      sum = sum + integers;
      I high;
      high.v[0] =
          reinterpret_cast<NativeI>(_mm512_srai_epi32(reinterpret_cast<__m512i>(integers.v[0]), 7));
      StoreLow8(high, to + i * kLanes);
      StoreLow8(integers & Splat(127), to + kPiece + i * kLanes);
    }
    q_starts_[query_piece] = Sum(Splat(0) - ShiftLeft(sum, 7));
  }

  // The head's elements in the cache rows of sixteen positions.
  struct Rows {
    const std::byte* first;
    int64_t stride_bytes;  // from one row to the next
    FT_INLINE const std::byte* At(int j, int s) const {
      return first + j * stride_bytes + s * kStoredBytes;
    }
  };
  // The rows in place if they are contiguous, else copied to `copies`.
  Rows RowsOf(const CacheView& cache, const AttentionRow& row, int from, std::byte* copies) const {
    const int64_t column = u_.column / kPiece * kStoredBytes, head_bytes = pieces_ * kStoredBytes;
    if (InSequence(row, from, kBlockPositions)) {
      return {cache.Row(from) + column, cache.row_bytes};
    }
    for (int j = 0; j < kBlockPositions; ++j) {
      __builtin_memcpy(copies + j * head_bytes, BlockRow(u_, row, cache, from, j) + column,
                       static_cast<size_t>(head_bytes));
    }
    return {copies, head_bytes};
  }

  // Copies the scales of the blocks of sixteen rows to `out`, [pieces][16].
  FT_INLINE void CopyScales(const Rows& rows, uint16_t* out) const {
    for (int s = 0; s < pieces_; ++s) {
      for (int j = 0; j < kBlockPositions; ++j) {
        __builtin_memcpy(out++, rows.At(j, s), 2);
        // Keeps the compiler from gathering scales in vector registers, which would delay products.
        asm volatile("" ::: "memory");
      }
    }
  }
  // Converts sixteen scales to floats. NaN becomes infinity, so that it is the largest scale.
  FT_INLINE static void WidenScales(const uint16_t* halves, float* out) {
    const F scales = LoadHalf(halves);
    Store(Select(Unordered(scales), Splat(__builtin_inff()), scales), out);
  }

  // The codes of row j in kPieces pieces, one or two, from piece s on.
  template <int kPieces>
  FT_INLINE static __m512i LoadPieces(const Rows& rows, int j, int s) {
    const std::byte* const codes = rows.At(j, s) + 2;
    const __m512i x = _mm512_zextsi256_si512(LoadPiece(codes));
    return kPieces == 1 ? x : _mm512_inserti64x4(x, LoadPiece(codes + kStoredBytes), 1);
  }
  FT_INLINE static __m256i LoadPiece(const std::byte* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }

  // Transposes the keys and interleaves the values of sixteen positions in kPieces pieces, from
  // piece s on.
  template <int kPieces>
  FT_INLINE void ArrangePieces(const Rows& keys, const Rows& values, int index, int s) {
    TransposeKeys<kPieces>(keys, index, s);
    for (int j = 0; j < kBlockPositions; j += 4) {
      if (s == 0 && prefetches_early_) {
        prefetcher_.Next();
        prefetcher_.Next();
      }
      InterleaveValues<kPieces>(values, j, s, values_ + ValueAt(index * 4 + j / 4, s));
    }
  }

  // Transposes kPieces pieces of sixteen keys to [pieces][8][16][4] unsigned bytes, each of them
  // 128 more than the stored code. Loading four rows into one register does half of the
  // transposition.
  template <int kPieces>
  [[gnu::noinline]] void TransposeKeys(Rows rows, int index, int s) {
    __m512i x[2 * kPieces][4];  // [c][k]: words 4 c ... 4 c + 3 of rows k, k + 4, k + 8, k + 12
    FT_UNROLL(4)
    for (int k = 0; k < 4; ++k) {
      FT_UNROLL(4)
      for (int c = 0; c < 2 * kPieces; ++c) {
        const std::byte* const codes = rows.At(k, s + c / 2) + 2 + c % 2 * 16;
        const int64_t step = 4 * rows.stride_bytes;
        __m512i words = _mm512_castsi128_si512(LoadFourWords(codes));
        words = _mm512_inserti32x4(words, LoadFourWords(codes + step), 1);
        words = _mm512_inserti32x4(words, LoadFourWords(codes + 2 * step), 2);
        words = _mm512_inserti32x4(words, LoadFourWords(codes + 3 * step), 3);
        x[c][k] = _mm512_xor_si512(words, _mm512_set1_epi8(-128));
      }
    }
    auto* const to = reinterpret_cast<__m512i*>(keys_ + KeyAt(index, s));
    FT_UNROLL(4)
    for (int c = 0; c < 2 * kPieces; ++c) {
      const __m512i a = _mm512_unpacklo_epi32(x[c][0], x[c][1]);
      const __m512i b = _mm512_unpacklo_epi32(x[c][2], x[c][3]);
      const __m512i d = _mm512_unpackhi_epi32(x[c][0], x[c][1]);
      const __m512i e = _mm512_unpackhi_epi32(x[c][2], x[c][3]);
      _mm512_store_si512(to + 4 * c, _mm512_unpacklo_epi64(a, b));
      _mm512_store_si512(to + 4 * c + 1, _mm512_unpackhi_epi64(a, b));
      _mm512_store_si512(to + 4 * c + 2, _mm512_unpacklo_epi64(d, e));
      _mm512_store_si512(to + 4 * c + 3, _mm512_unpackhi_epi64(d, e));
    }
  }
  FT_INLINE static __m128i LoadFourWords(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  int64_t KeyAt(int index, int s) const {
    return (int64_t{index} * pieces_ + s) * kPiece * kBlockPositions;
  }

  // Interleaves the codes of four rows element by element, one piece after the other (ValueAt).
  template <int kPieces>
  FT_INLINE static void InterleaveValues(const Rows& rows, int from, int s, std::byte* out) {
    __m512i x[4];
    FT_UNROLL(4)
    for (int j = 0; j < 4; ++j) x[j] = LoadPieces<kPieces>(rows, from + j, s);
    const __m512i a = _mm512_unpacklo_epi8(x[0], x[1]), b = _mm512_unpackhi_epi8(x[0], x[1]);
    const __m512i c = _mm512_unpacklo_epi8(x[2], x[3]), d = _mm512_unpackhi_epi8(x[2], x[3]);
    const __m512i interleaved[] = {_mm512_unpacklo_epi16(a, c), _mm512_unpackhi_epi16(a, c),
                                   _mm512_unpacklo_epi16(b, d), _mm512_unpackhi_epi16(b, d)};
    auto* const to = reinterpret_cast<__m256i*>(out);
    FT_UNROLL(4)
    for (int i = 0; i < 4; ++i) {
      _mm256_store_si256(to + i, _mm512_castsi512_si256(interleaved[i]));
      if (kPieces == 2)
        _mm256_store_si256(to + 4 + i, _mm512_extracti64x4_epi64(interleaved[i], 1));
    }
  }

  // Computes the scores of queries [query, query + kQueries) in all blocks of a span, and stores
  // them in slots [slot, slot + kQueries) of scores_.
  template <int kQueries>
  FT_INLINE void Score(int query, int slot, int blocks) {
    int b = 0;
    for (; b + 2 <= blocks; b += 2) ScoreBlocks<kQueries, 2>(query, slot, b);
    for (; b < blocks; ++b) ScoreBlocks<kQueries, 1>(query, slot, b);
  }

  template <int kQueries, int kBlocks>
  [[gnu::noinline]] void ScoreBlocks(int query, int slot, int block) {
    F acc[kQueries][kBlocks] = {};
    for (int s = 0; s < pieces_; ++s) {
      prefetcher_.Next();
      const std::byte* const keys = keys_ + KeyAt(block, s);
      const int64_t block_bytes = KeyAt(1, 0);
      const int query_piece = query * pieces_ + s;
      I high[kQueries][kBlocks] = {}, low[kQueries][kBlocks];
      FT_UNROLL(4)
      for (int i = 0; i < kQueries; ++i) {
        FT_UNROLL(2)
        for (int b = 0; b < kBlocks; ++b) low[i][b] = Splat(q_starts_[query_piece + i * pieces_]);
      }
      FT_UNROLL(8)
      for (int w = 0; w < kPiece / 4; ++w) {
        I k[kBlocks];
        FT_UNROLL(2)
        for (int b = 0; b < kBlocks; ++b) k[b] = LoadI(keys + b * block_bytes + w * 64);
        FT_UNROLL(4)
        for (int i = 0; i < kQueries; ++i) {
          const std::byte* const q = q_ + (query_piece + i * pieces_) * 2 * kPiece + 4 * w;
          const I h = SplatFour(q), l = SplatFour(q + kPiece);
          FT_UNROLL(2)
          for (int b = 0; b < kBlocks; ++b) {
            high[i][b] = Dot4(high[i][b], k[b], h);
            low[i][b] = Dot4(low[i][b], k[b], l);
          }
        }
      }
      FT_UNROLL(2)
      for (int b = 0; b < kBlocks; ++b) {
        const F scales = Load(key_scales_ + s * kSpan + (block + b) * kBlockPositions);
        FT_UNROLL(4)
        for (int i = 0; i < kQueries; ++i) {
          const F dot = ToF(ShiftLeft(high[i][b], 7) + low[i][b]);
          acc[i][b] = Fma(dot, scales * Splat(q_scales_[query_piece + i * pieces_]), acc[i][b]);
        }
      }
    }
    FT_UNROLL(4)
    for (int i = 0; i < kQueries; ++i) {
      FT_UNROLL(2)
      for (int b = 0; b < kBlocks; ++b) {
        Store(acc[i][b], scores_ + (slot + i) * kSpan + (block + b) * kBlockPositions);
      }
    }
  }

  // Whether a query's row attends to every position of a span's blocks.
  bool AttendsToAll(int query, int span_begin, int blocks) const {
    const AttentionRow& row = u_.rows[query / u_.heads];
    return row.begin <= span_begin && row.count >= span_begin + blocks * kBlockPositions;
  }

  // Turns the scores of n queries, which attend to the same positions of a span, into weights, and
  // rescales the queries' sums to the new maxima. Each step is done for all queries before the next
  // step: the steps of one query depend on one another, while those of different queries overlap.
  //
  // A score is an exponent of base 2. A query's weights in one span are computed relative to
  // 2^span_top, where span_top is the query's highest score in the span, rounded up to an integer.
  // The query's sums are relative to 2^highest, where `highest` is the highest span_top so far. A
  // span's weights therefore enter the sums times 2^(span_top - highest), the span factor. When
  // `highest` rises, the sums of earlier spans are scaled down.
  void UpdateSoftmax(int query, int n, int span_begin, int blocks) {
    F tops[kQueriesTogether];
    for (int i = 0; i < kQueriesTogether; ++i) {
      tops[i] = Zero();
      if (i >= n) continue;
      prefetcher_.Next();
      tops[i] = MaskUnattended(u_.rows[(query + i) / u_.heads], span_begin, blocks, Splat(kLowest),
                               scores_ + i * kSpan);
    }
    const F old_tops = LoadFirst(tops_ + query, n), span_tops = Ceil(Largest(tops));
    const F highest = Max(span_tops, old_tops), span_factors = PowerOfTwo(span_tops - highest);
    StoreFirst(highest, tops_ + query, n);
    alignas(64) float sum_factor[kLanes], span_top[kLanes], span_factor[kLanes];
    Store(PowerOfTwo(old_tops - highest), sum_factor);
    Store(span_tops, span_top);
    Store(span_factors, span_factor);
    for (int i = 0; i < n; ++i) {
      if (sum_factor[i] == 1.0f) continue;
      ScaleDown(Splat(sum_factor[i]), sums_ + (query + i) * kLanes,
                weighted_values_ + (query + i) * u_.head_dim, u_.head_dim);
    }
    for (int s = 0; s < pieces_; ++s) {
      Store(span_factors * ScaleValues(query, s, span_begin, blocks), weight_scales_ + s * kLanes);
    }
    for (int i = 0; i < n; ++i) {
      prefetcher_.Next();
      Weigh(query + i, i, Splat(span_top[i]), Splat(span_factor[i]), blocks);
    }
  }

  // Divides the value scales of a span in piece s by a power of two, so that the largest of them at
  // the positions that `query` attends to becomes less than 2^16. Stores the quotients in
  // relative_scales_, and returns the power of two.
  F ScaleValues(int query, int s, int span_begin, int blocks) {
    const AttentionRow& row = u_.rows[query / u_.heads];
    const bool attends_to_all = AttendsToAll(query, span_begin, blocks);
    const float* const scales = value_scales_ + s * kSpan;
    F top = Zero();
    for (int b = 0; b < blocks; ++b) {
      const F x = Load(scales + b * kBlockPositions);
      const int from = span_begin + b * kBlockPositions;
      top = Max(attends_to_all ? x : Select(AttendedLanes(from, row.begin, row.count), x, Zero()),
                top);
    }
    F inverse;
    const F scale = ScaleFor(Splat(MaxLane(top)), 16, inverse);
    for (int b = 0; b < blocks; ++b) {
      Store(Load(scales + b * kBlockPositions) * inverse,
            relative_scales_ + s * kSpan + b * kBlockPositions);
    }
    return scale;
  }

  // Computes a query's weights relative to 2^span_top, and adds them, times span_factor, to the
  // query's sum. Rounds the products of the weights and each piece's relative_scales_ to integers
  // 256 h + l, and stores them as [64] h and [64] l.
  FT_INLINE void Weigh(int query, int slot, F span_top, F span_factor, int blocks) {
    const float* const scores = scores_ + slot * kSpan;
    F sum = Load(sums_ + query * kLanes), x[kSpan / kBlockPositions];
    FT_UNROLL(4)
    for (int b = 0; b < kSpan / kBlockPositions; ++b) {
      x[b] = Zero();
      if (b >= blocks) continue;
      x[b] = QuickPower(Load(scores + b * kBlockPositions) - span_top);
      sum = MulAdd(x[b], span_factor, sum);
    }
    Store(sum, sums_ + query * kLanes);
    const __m512i byte = _mm512_set1_epi16(255);
    std::byte* to = weights_ + slot * pieces_ * 2 * kSpan;
    for (int s = 0; s < pieces_; ++s, to += 2 * kSpan) {
      __m512i integers[kSpan / kBlockPositions];
      // Where a weight is zero, relative_scales_ may be infinite or, from block `blocks` on, hold
      // anything. A product that is NaN is rounded to INT_MIN, which the packs saturate to zero.
      FT_UNROLL(4)
      for (int b = 0; b < kSpan / kBlockPositions; ++b) {
        integers[b] = reinterpret_cast<__m512i>(
            Rounded(x[b] * Load(relative_scales_ + s * kSpan + b * kBlockPositions)).v[0]);
      }
      // Each 128 bits hold four positions of each block, one block after the other.
      const __m512i a = _mm512_packus_epi32(integers[0], integers[1]);
      const __m512i b = _mm512_packus_epi32(integers[2], integers[3]);
      _mm512_store_si512(to, _mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8)));
      _mm512_store_si512(to + kSpan,
                         _mm512_packus_epi16(_mm512_and_si512(a, byte), _mm512_and_si512(b, byte)));
    }
  }

  // Adds the weighted values of a span's blocks to weighted_values_, for queries [query, query +
  // kQueries), whose weights are in slots [slot, slot + kQueries).
  template <int kQueries>
  [[gnu::noinline]] void Mix(int query, int slot, int blocks) {
    for (int s = 0; s < pieces_; ++s) {
      I high[kQueries][2] = {}, low[kQueries][2] = {};
      const std::byte* weights = weights_ + (slot * pieces_ + s) * 2 * kSpan;
      for (int b = 0; b < blocks; ++b, weights += 4) {
        prefetcher_.Next();
        FT_UNROLL(4)
        for (int lane = 0; lane < 4; ++lane) {
          const std::byte* const values = values_ + ValueAt(4 * b + lane, s);
          const I v[] = {LoadI(values), LoadI(values + 64)};
          FT_UNROLL(4)
          for (int i = 0; i < kQueries; ++i) {
            const std::byte* const w = weights + i * pieces_ * 2 * kSpan + 16 * lane;
            const I h = SplatFour(w), l = SplatFour(w + kSpan);
            FT_UNROLL(2)
            for (int k = 0; k < 2; ++k) {
              high[i][k] = Dot4(high[i][k], h, v[k]);
              low[i][k] = Dot4(low[i][k], l, v[k]);
            }
          }
        }
      }
      FT_UNROLL(4)
      for (int i = 0; i < kQueries; ++i) {
        const F scale = Splat(weight_scales_[s * kLanes + slot + i]);
        float* const weighted = weighted_values_ + ((query + i) * pieces_ + s) * kPiece;
        FT_UNROLL(2)
        for (int k = 0; k < 2; ++k) {
          const F sum = ToF(ShiftLeft(high[i][k], 8) + low[i][k]);
          Store(Fma(sum, scale, Load(weighted + k * kLanes)), weighted + k * kLanes);
        }
      }
    }
  }

  const AttentionUnit& u_;
  int pieces_;  // pieces of a head
  int queries_;
  RowPrefetcherOf<true> prefetcher_;
  // Whether Widen prefetches while it interleaves values. With fewer than eight queries, the later
  // loops alone would not prefetch enough of the next span. With eight, they leave some lines to
  // the hardware prefetcher. CPUs for which prefetching into the L1 cache is chosen stall on those
  // lines, so for them Widen prefetches with fewer than sixteen queries.
  bool prefetches_early_;
  // Bytes: q_ [queries][pieces][2][32] (RoundQuery); keys_ [blocks][pieces][8][16][4]
  // (TransposeKeys); values_ (ValueAt); weights_ [slots][pieces][2][kSpan] (Weigh); key_copies_ and
  // value_copies_ [16][pieces][kStoredBytes] (RowsOf).
  std::byte *q_, *keys_, *values_, *weights_, *key_copies_, *value_copies_;
  // q_scales_ [queries][pieces], times u_.scale and log2(e); weighted_values_
  // [queries][pieces][32], in the order of ElementAt; scores_ [slots][kSpan]; sums_ [queries][16],
  // of the weights; tops_ [queries], the running maxima.
  float *q_scales_, *weighted_values_, *scores_, *sums_, *tops_;
  // weight_scales_ [pieces][16], a lane per slot; the others [pieces][kSpan].
  float *weight_scales_, *key_scales_, *value_scales_, *relative_scales_;
  int32_t* q_starts_;  // [queries][pieces]
  int64_t scratch_;
};

}  // namespace foretoken::FT_ISA
