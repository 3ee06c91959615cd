// Attention in products of bf16 pairs with float sums, for BF16 and Q8_0 caches: queries and
// weights are rounded to bf16, and an instruction multiplies twice the numbers that float
// arithmetic takes. So are numbers of Q8_0: of a number's 8 bits, rounding takes less than was lost
// when it was stored.
#pragma once

#include "backend/cpu/one_row_attention.h"

namespace foretoken::FT_ISA {

// A word is two bf16, the first in the low half.
class PairNumbers {
 public:
  static constexpr int kPer = 2;

  FT_INLINE static F Product(F a, F b, F c) {
    c.v[0] = _mm512_dpbf16_ps(c.v[0], reinterpret_cast<__m512bh>(a.v[0]),
                              reinterpret_cast<__m512bh>(b.v[0]));
    return c;
  }

  FT_INLINE static F LoadQuery(const float* q, int64_t n) {
    F r;
    r.v[0] = reinterpret_cast<NativeF>(_mm512_cvtne2ps_pbh(
        n > kLanes ? LoadFirst(q + kLanes, n - kLanes).v[0] : Zero().v[0], LoadFirst(q, n).v[0]));
    return r;
  }

  FT_INLINE static F Power(F x) { return QuickExp(x); }

  // In place of the scores: a block's weights take half of the room, and none is ahead of its
  // block.
  FT_INLINE static void StoreWeights(F x, float* weights, int block) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x.v[0]);
    __builtin_memcpy(weights + block * kKeys / 2, &rounded, sizeof(rounded));
  }

  static bool Reads(CacheType type) { return type == CacheType::kBF16 || type == CacheType::kQ8_0; }

  // Positions [from, from + 16) of a row as words [padded head / 2][16]: a lane is a position.
  static void WidenKeys(const AttentionUnit& u, const AttentionRow& row, int from, Asks& asks,
                        float* out) {
    return u.key_type == CacheType::kQ8_0 ? Transposed<CacheType::kQ8_0>(u, row, from, asks, out)
                                          : Transposed<CacheType::kBF16>(u, row, from, asks, out);
  }

  // The same as words [8][padded head]: a lane is an element of two positions.
  static void WidenValues(const AttentionUnit& u, const AttentionRow& row, int from, Asks& asks,
                          float* out) {
    return u.value_type == CacheType::kQ8_0 ? Block<CacheType::kQ8_0>(u, row, from, asks, out)
                                            : Block<CacheType::kBF16>(u, row, from, asks, out);
  }

 protected:
  static constexpr int kWords = 2 * kLanes;  // bf16 of a register

  // What a register holds of a row's numbers: up to 32 of `elements`, from an element on.
  template <CacheType kType>
  struct Piece {
    FT_INLINE explicit Piece(int64_t element, int64_t elements = kWords)
        : first(element),
          count(elements),
          whole(count >= kWords && (kType != CacheType::kQ8_0 || first % 32 == 0)),
          bytes(kType == CacheType::kQ8_0 ? first / 32 * 34 : 2 * first) {}
    int64_t first, count;
    bool whole;  // a block, or 32 numbers of a type without blocks, at `bytes`
    int64_t bytes;
  };

  template <CacheType kType>
  FT_INLINE static __m512i LoadPiece(const std::byte* row, const Piece<kType>& piece) {
    if constexpr (kType == CacheType::kQ8_0) {
      if (piece.whole) {
        const std::byte* const block = row + piece.bytes;
        const F scale = Splat(ScaleQ8_0(block, 0));
        return Rounded(scale * ToF(LoadS8(block + 2)), scale * ToF(LoadS8(block + 2 + kLanes)));
      }
      const int64_t i = piece.first, n = piece.count;
      return Rounded(LoadCache<kType>(row, i, n),
                     n > kLanes ? LoadCache<kType>(row, i + kLanes, n - kLanes) : Zero());
    } else {
      if (piece.whole) return _mm512_loadu_si512(row + piece.bytes);
      return _mm512_maskz_loadu_epi16((__mmask32{1} << piece.count) - 1, row + piece.bytes);
    }
  }

  FT_INLINE static __m512i Rounded(F low, F high) {
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.v[0], low.v[0]));
  }

  // Takes 0, 32, 1, 33 ... of two registers.
  FT_INLINE static __m512i FirstOfPairs() {
    uint16_t order[kWords];
    for (int i = 0; i < kWords; ++i) order[i] = static_cast<uint16_t>(i / 2 + i % 2 * kWords);
    return _mm512_loadu_si512(order);
  }

 private:
  template <CacheType kType>
  static void Transposed(const AttentionUnit& u, const AttentionRow& row, int from, Asks& asks,
                         float* out) {
    const CacheView cache = KeysOf(u);
    const std::byte* in[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      if (j % 4 == 0) asks.Next();
      in[j] = BlockRow(u, row, cache, from, j);
    }
    for (int d = 0; d < u.head_dim; d += kWords) {
      const Piece<kType> piece(u.column + d, u.head_dim - d);
      F x[kKeys];
      FT_UNROLL(16)
      for (int j = 0; j < kKeys; ++j) {
        x[j].v[0] = reinterpret_cast<NativeF>(LoadPiece(in[j], piece));
      }
      StoreTransposed(x, out + d / 2 * kKeys);
    }
  }

  template <CacheType kType>
  static void Block(const AttentionUnit& u, const AttentionRow& row, int from, Asks& asks,
                    float* out) {
    const __m512i low = FirstOfPairs(), high = _mm512_add_epi16(low, _mm512_set1_epi16(kLanes));
    const CacheView cache = ValuesOf(u);
    const std::byte* in[kKeys];
    for (int j = 0; j < kKeys; ++j) {
      if (j % 4 == 0) asks.Next();
      in[j] = BlockRow(u, row, cache, from, j);
    }
    for (int d = 0; d < u.head_dim; d += kWords) {
      const Piece<kType> piece(u.column + d, u.head_dim - d);
      float* to = out + d;
      for (int j = 0; j < kKeys; j += 2, to += PaddedHead<PairNumbers>(u.head_dim)) {
        const __m512i a = LoadPiece(in[j], piece);
        const __m512i b = LoadPiece(in[j + 1], piece);
        _mm512_storeu_si512(to, _mm512_permutex2var_epi16(a, low, b));
        _mm512_storeu_si512(to + kLanes, _mm512_permutex2var_epi16(a, high, b));
      }
    }
  }
};

// The same words for OneRowAttention.
class PairWords : public PairNumbers {
 public:
  template <typename Fn>
  FT_INLINE static void Choose(CacheType type, const Fn& f) {
    if (type == CacheType::kBF16) return f(OfType<CacheType::kBF16>());
    f(OfType<CacheType::kQ8_0>());
  }
  template <CacheType kType>
  FT_INLINE static F LoadWords(const std::byte* row, int64_t element, int64_t word) {
    F words;
    words.v[0] = reinterpret_cast<NativeF>(LoadPiece(row, Piece<kType>(element + word * kPer)));
    return words;
  }
  template <CacheType kType>
  FT_INLINE static void LoadValues(const std::byte* const* rows, int64_t element, F& a, F& b) {
    const Piece<kType> piece(element);
    const __m512i first = LoadPiece(rows[0], piece), second = LoadPiece(rows[1], piece);
    const __m512i low = FirstOfPairs(), high = _mm512_add_epi16(low, _mm512_set1_epi16(kLanes));
    a.v[0] = reinterpret_cast<NativeF>(_mm512_permutex2var_epi16(first, low, second));
    b.v[0] = reinterpret_cast<NativeF>(_mm512_permutex2var_epi16(first, high, second));
  }
  FT_INLINE static void StorePair(F x, float* to) {
    const __m256bh rounded = _mm512_cvtneps_pbh(x.v[0]);
    __builtin_memcpy(to, &rounded, sizeof(rounded));
  }
};

}  // namespace foretoken::FT_ISA
