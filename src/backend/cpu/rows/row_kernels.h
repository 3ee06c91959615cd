// Kernels over rows of activations or logits: norms, rotations, activation functions, ArgMax and
// top-k, and the conversion of rows to tiles (the operands of products) and to cache values. The
// code is written once, with the vectors of vec.h, and compiled for every instruction set.
#pragma once

#include "backend/cpu/isa/vec.h"
#include "backend/cpu/isa/vec_math.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/rows/quantise_rows.h"

namespace foretoken::FT_ISA {

inline float RmsScale(const float* x, float eps, int64_t n) {
  F squares = Zero();
  for (int64_t i = 0; i < n; i += kLanes) {
    const F v = LoadFirst(x + i, n - i);
    squares = MulAdd(v, v, squares);
  }
  return 1.0f / __builtin_sqrtf(Sum(squares) / static_cast<float>(n) + eps);
}

inline void ScaleRow(const float* x, float scale, const float* gain, int64_t n, float* out) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const F v = LoadFirst(x + i, n - i) * Splat(scale);
    StoreFirst(v * LoadFirst(gain + i, n - i), out + i, n - i);
  }
}

inline void RmsNorm(const float* x, const float* gain, float eps, int64_t n, float* out) {
  ScaleRow(x, RmsScale(x, eps, n), gain, n, out);
}

inline void SiluMul(float* gate, const float* up, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const F g = LoadFirst(gate + i, n - i);
    const F silu = g / (Splat(1.0f) + Exp(Zero() - g));
    StoreFirst(silu * LoadFirst(up + i, n - i), gate + i, n - i);
  }
}

inline void AddRow(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += kLanes) {
    StoreFirst(LoadFirst(y + i, n - i) + LoadFirst(x + i, n - i), y + i, n - i);
  }
}

inline void RotateHalves(float* x, int half, const float* cos, const float* sin) {
  for (int i = 0; i < half; i += kLanes) {
    const int n = half - i;
    const F a = LoadFirst(x + i, n), b = LoadFirst(x + half + i, n);
    const F c = LoadFirst(cos + i, n), s = LoadFirst(sin + i, n);
    StoreFirst(a * c - b * s, x + i, n);
    StoreFirst(b * c + a * s, x + half + i, n);
  }
}

inline void RotatePairs(float* x, int half, const float* cos, const float* sin) {
  for (int i = 0; i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}

inline void Rope(float* x, int64_t heads, int head_dim, int rope_dim, bool interleaved,
                 const float* cos, const float* sin) {
  for (int64_t h = 0; h < heads; ++h, x += head_dim) {
    if (interleaved) {
      RotatePairs(x, rope_dim / 2, cos, sin);
    } else {
      RotateHalves(x, rope_dim / 2, cos, sin);
    }
  }
}

// The lowest index of the highest value; NaN is never the highest.
inline int64_t ArgMax(const float* x, int64_t n) {
  F best = Splat(-__builtin_inff());
  I index = Splat(0), at = LaneNumbers();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F v = Load(x + i);
    const I better = Greater(v, best);
    best = Select(better, v, best);
    index = Select(better, at, index);
    at = at + Splat(kLanes);
  }
  float value[kLanes];
  int32_t where[kLanes];
  Store(best, value);
  __builtin_memcpy(where, &index, sizeof(where));
  float top = -__builtin_inff();
  int64_t top_at = 0;
  for (int j = 0; j < kLanes; ++j) {
    if (value[j] > top || (value[j] == top && value[j] > -__builtin_inff() && where[j] < top_at)) {
      top = value[j];
      top_at = where[j];
    }
  }
  for (; i < n; ++i) {
    if (x[i] > top) {
      top = x[i];
      top_at = i;
    }
  }
  return top_at;
}

// Quantises one block of row `row` of a chunk of `chunk_rows` rows. x: the block's values; `block`:
// the chunk's part of an int8 tile for this block (TileKind).
template <TileKind kKind>
void QuantiseBlock(const float* x, int row, int chunk_rows, std::byte* block) {
  const F a = Finite(Load(x)), b = Finite(Load(x + kLanes));
  const F base = BaseOf(Splat(MaxLane(Max(Abs(a), Abs(b)))));
  const I codes_a = AsI(a + base) - AsI(base), codes_b = AsI(b + base) - AsI(base);
  StoreLow8(codes_a, block + row * kBlock);
  StoreLow8(codes_b, block + row * kBlock + kLanes);
  F values[3];
  const int count = TileNumbers<kKind>(base, Splat(Sum(codes_a)), Splat(Sum(codes_b)), values);
  std::byte* to = block + chunk_rows * kBlock + 4 * row;
  for (int i = 0; i < count; ++i) {
    StoreFirst(values[i], reinterpret_cast<float*>(to + 4 * i * chunk_rows), 1);
  }
}

// Quantises one block of each of `count` rows, which form one chunk of `chunk_rows` rows or two of
// eight. rows[i]: the block's values in row i; zeros for i >= count.
template <TileKind kKind>
void QuantiseRows(const float* const rows[kLanes], int count, [[maybe_unused]] int chunk_rows,
                  std::byte* block) {
#if defined(__AVX512F__)
  if (count > 8) return QuantiseChunks<kKind, kLanes>(rows, count, chunk_rows, block);
  if (count > 2) return QuantiseChunks<kKind, 8>(rows, count, chunk_rows, block);
#endif
  for (int i = 0; i < count; ++i) QuantiseBlock<kKind>(rows[i], i, count, block);
}

// Fills columns [begin, end) of an int8 tile (Kernels::make_tile). Both bounds are multiples of
// kBlock: quantised weights have whole blocks of inputs. The padding rows become zeros.
template <TileKind kKind>
void MakeInt8Tile(const TileCall& t, int64_t begin, int64_t end) {
  const float zeros[kBlock] = {};
  const int padded = t.chunks * t.chunk_rows;
  const int rows_at_once = kNative == 16 && t.chunk_rows == 8 ? kLanes : t.chunk_rows;
  // Prefetched for writing, because other threads have read these lines.
  std::byte* const first_block = t.tile + begin / kBlock * padded * TileBlockBytes(kKind);
  const int64_t bytes = (end - begin) / kBlock * padded * TileBlockBytes(kKind);
  for (int64_t i = 0; i < bytes; i += 64) PrefetchForWriting(first_block + i);
  for (int64_t b = begin / kBlock; b < end / kBlock; ++b) {
    std::byte* block = t.tile + b * padded * TileBlockBytes(kKind);
    for (int first = 0; first < padded; first += rows_at_once) {
      const int count = padded - first < rows_at_once ? padded - first : rows_at_once;
      const float* rows[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const bool has_row = i < count && first + i < t.rows;
        rows[i] = has_row ? t.x + (first + i) * t.stride + (b * kBlock - begin) : zeros;
      }
      QuantiseRows<kKind>(rows, count, t.chunk_rows, block + first * TileBlockBytes(kKind));
    }
  }
}

template <int... kKind>
constexpr void FillInt8Tiles(Kernels& k) {
  ((k.make_tile[kKind] = &MakeInt8Tile<static_cast<TileKind>(kKind)>), ...);
}

// Converts the first n floats at x, at most 16 * kPerWord, to sixteen 32-bit words of kPerWord
// values each: one float, or two in BF16. The remaining words are zeros.
template <int kPerWord>
FT_INLINE F LoadTileWords(const float* x, int64_t n) {
  if constexpr (kPerWord == 1) return LoadFirst(x, n);
  uint16_t halves[2 * kLanes] = {};
  StoreLow16(ToBf16(LoadFirst(x, n)), halves);
  if (n > kLanes) StoreLow16(ToBf16(LoadFirst(x + kLanes, n - kLanes)), halves + kLanes);
  F words;
  __builtin_memcpy(&words, halves, sizeof(words));
  return words;
}

// Fills columns [begin, end) of a tile of floats (kPerWord = 1) or of pairs of BF16 (kPerWord = 2):
// 32-bit words, each with kPerWord columns of a row. Transposes sixteen words of sixteen rows at a
// time. An odd last column is followed by a column of zeros, as in BF16 weights.
template <int kPerWord>
void MakeWordTile(const TileCall& t, int64_t begin, int64_t end) {
  const int64_t chunk_words = (t.cols + 1) / 2 * 2 / kPerWord * t.chunk_rows;
  const int64_t last = (end + 1) / 2 * 2 / kPerWord;
  for (int k = 0; k < t.chunks; ++k) {
    const int first = k * t.chunk_rows;
    for (int64_t i = begin / kPerWord; i < last; i += kLanes) {
      F x[kLanes];
      for (int r = 0; r < kLanes; ++r) {
        const bool has_row = r < t.chunk_rows && first + r < t.rows;
        const float* const at = t.x + (first + r) * t.stride + (i * kPerWord - begin);
        x[r] = has_row ? LoadTileWords<kPerWord>(at, end - i * kPerWord) : Zero();
      }
      alignas(64) float words[kLanes * kLanes];
      StoreTransposed(x, words);
      auto* to = reinterpret_cast<float*>(t.tile) + k * chunk_words + i * t.chunk_rows;
      for (int c = 0; c < kLanes && i + c < last; ++c, to += t.chunk_rows) {
        StoreFirst(Load(words + c * kLanes), to, t.chunk_rows);
      }
    }
  }
}

// Converts n floats to two-byte values at `out`. store(lanes, to) converts sixteen lanes and writes
// the 32 bytes at `to`.
template <typename StoreFn>
FT_INLINE void StoreNarrow(const float* x, int64_t n, std::byte* out, StoreFn store) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(Load(x + i), out + 2 * i);
  if (i == n) return;
  uint16_t last[kLanes];
  store(LoadFirst(x + i, n - i), reinterpret_cast<std::byte*>(last));
  __builtin_memcpy(out + 2 * i, last, static_cast<size_t>(n - i) * 2);
}

inline void StoreBf16Row(const float* x, int64_t n, std::byte* out) {
  StoreNarrow(x, n, out, [](F lanes, std::byte* to) { StoreLow16(ToBf16(lanes), to); });
}

#if defined(__F16C__)
inline void StoreHalfRow(const float* x, int64_t n, std::byte* out) {
  StoreNarrow(x, n, out, [](F lanes, std::byte* to) { StoreHalf(lanes, to); });
}
#endif

// Inserts a token at its rank among the `count` tokens in `top`, and drops the last of these.
inline void InsertRanked(RankedToken token, int count, RankedToken* top) {
  int at = count - 1;
  for (; at > 0 && top[at - 1].log_share < token.log_share; --at) top[at] = top[at - 1];
  top[at] = token;
}

inline float TopK(const float* x, int64_t n, int count, RankedToken* top) {
  constexpr int64_t kSpan = 4 * kLanes;
  constexpr float kMinusInfinity = -__builtin_inff();
  for (int i = 0; i < count; ++i) top[i] = {kNoToken, kMinusInfinity};
  const F most = Splat(kMostLogit), least = Splat(-kMostLogit),
          minus_infinity = Splat(kMinusInfinity);
  I unsound = Splat(0);
  for (int64_t i = 0; i < n; i += kSpan) {
    const int64_t end = i + kSpan < n ? i + kSpan : n;
    F highest = minus_infinity;
    for (int64_t j = i; j < end; j += kLanes) {
      const F v = LoadFirst(x + j, end - j);
      highest = Max(v, highest);
      unsound = unsound | Greater(v, most) | Unordered(v) |
                (Greater(least, v) & Greater(v, minus_infinity));
    }
    // The last lanes are padded with 0, which can only cause a needless scan.
    if (!(MaxLane(highest) > top[count - 1].log_share)) continue;
    for (int64_t j = i; j < end; ++j) {
      if (x[j] > top[count - 1].log_share) InsertRanked({static_cast<Token>(j), x[j]}, count, top);
    }
  }
  if (Sum(unsound) != 0 || top[0].token == kNoToken) return 0;
  F sum = Zero();
  for (int64_t i = 0; i < n; i += kLanes) {
    const F share = Exp(LoadFirst(x + i, n - i) - Splat(top[0].log_share));
    sum = sum +
          (n - i >= kLanes
               ? share
               : Select(Greater(Splat(static_cast<int32_t>(n - i)), LaneNumbers()), share, Zero()));
  }
  return Sum(sum);
}

constexpr void FillRows(Kernels& k) {
#if defined(__F16C__)
  k.store_half = &StoreHalfRow;
#endif
  k.store_bf16 = &StoreBf16Row;
  FillInt8Tiles<0, 1, 2, 3, 4>(k);
  k.make_tile[static_cast<int>(TileKind::kBf16Pairs)] = &MakeWordTile<2>;
  k.make_tile[static_cast<int>(TileKind::kF32)] = &MakeWordTile<1>;
  k.rms_norm = &RmsNorm;
  k.rms_scale = &RmsScale;
  k.scale_row = &ScaleRow;
  k.silu_mul = &SiluMul;
  k.add = &AddRow;
  k.rope = &Rope;
  k.arg_max = &ArgMax;
  k.top_k = &TopK;
}

}  // namespace foretoken::FT_ISA
