// The interface between the backend and the kernels of each instruction set: the layout of
// activation tiles, the arguments of kernels, and the table of kernels that each set fills in.
// Files compiled for one instruction set include it, so its functions are always inlined
// (isa/always_inline.h explains why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/isa/always_inline.h"
#include "backend/cpu/pack/number_format.h"
#include "base/types.h"

namespace foretoken {

// The layouts of a tile: activation rows as an operand of products.
//
// Int8 tiles. A block of a row is rounded to codes of magnitude at most 127 and a power-of-two
// scale, its unit. The block's base is 1.5 * 2^23 units. Near the base, consecutive floats are one
// unit apart. So for an integer i below 2^22 in magnitude, adding i to the base's bit pattern gives
// the bit pattern of base + i * unit. Two conversions therefore need no multiplication, which on
// Zen 4 would compete with the products for an execution port:
//   rounding: code = bits of (value + base) - bits of the base;
//   scaling:  an integer sum of products that starts from the bits of the base instead of 0 ends as
//             the bits of a float; that float - base = sum * unit.
// An int8 tile holds, per block and chunk, the codes [rows][32] int8, the bases [rows] f32, and
// then [rows] values that account for the weights' zero or minimum (FormatTraits). The kinds differ
// in these values.
enum class TileKind : int {
  kInt8Sum,  // f32: the sum of the codes times the unit
  // i32: the value that a sum over unsigned weight codes starts from, so that the weights' zero is
  // subtracted: the bits of the base - zero * (sum of the codes). The number in a kind's name is
  // that zero.
  kInt8Zero8,
  kInt8Zero16,
  kInt8Zero128,
  kInt8Zero32,  // two such values: [rows] for the first half of the block, [rows] for the second
  kBf16Pairs,   // per chunk [cols / 2][rows][2]
  kBf16Steps,   // per chunk [cols / 32][rows][32], the last step padded with zeros
  kF32,         // per chunk [cols][rows], an odd last column followed by zeros
};
inline constexpr int kTileKinds = 8;
inline constexpr int kInt8TileKinds = 5;

// Bytes that one block of one row takes in an int8 tile.
FT_INLINE constexpr int64_t TileBlockBytes(TileKind kind) {
  return kBlock + 4 * (kind == TileKind::kInt8Zero32 ? 3 : 2);
}

// The kind of tile that weights of a quantised format are multiplied with.
FT_INLINE constexpr TileKind TileOf(Format format) {
  switch (TraitsOf(format).zero) {
    case 8:
      return TileKind::kInt8Zero8;
    case 16:
      return TileKind::kInt8Zero16;
    case 32:
      return TileKind::kInt8Zero32;
    case 128:
      return TileKind::kInt8Zero128;
    default:
      return TileKind::kInt8Sum;
  }
}
// Whether TileOf returns a suitable kind for every quantised format. A new format needs a new kind
// if no existing kind matches its zero and its halves (FormatTraits).
consteval bool EveryFormatHasATile() {
  for (int f = 0; f < kQuantisedFormats; ++f) {
    const FormatTraits& traits = kFormatTraits[f];
    const TileKind tile = TileOf(traits.format);
    if ((tile == TileKind::kInt8Sum) != traits.has_minimum) return false;
    if ((tile == TileKind::kInt8Zero32) != (traits.halves == 2)) return false;
  }
  return true;
}
static_assert(EveryFormatHasATile());

// The possible sizes of a chunk: rows that are multiplied together, with their sums in registers. A
// tile is one or more chunks of one size, the last padded with rows of zeros. A size for which
// MostChunks is 1 occurs only in tiles of one chunk.
inline constexpr int kChunkRows[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
inline constexpr int kChunkSizes = 9;
inline constexpr int kMaxTileRows = 64;
FT_INLINE constexpr int MostChunks(int chunk_rows) {
  return chunk_rows % 4 != 0 ? 1 : kMaxTileRows / chunk_rows;
}

// Arguments of Kernels::make_tile: the rows to convert, [rows, cols], and the tile to write.
struct TileCall {
  const float* x;  // first row, at the first column to convert
  int64_t stride;  // floats from one row to the next
  int64_t cols;    // number of columns of a whole row
  int rows, chunk_rows, chunks;
  std::byte* tile;
};

// Arguments of a product of panels [panel_begin, panel_end) and one tile.
struct LinearCall {
  const std::byte* panels;
  PanelLayout layout;
  int64_t lead;  // index of panel 0 among the interleaved panels that begin at `panels`
  int64_t cols;
  int64_t outputs;  // from panel 0 on; the last panel may be partly padding
  int64_t panel_begin, panel_end;
  const std::byte* tile;
  int chunks;
  int rows;            // of the tile, without padding
  float* out;          // panel 0's first output in the tile's first row
  int64_t out_stride;  // floats from one row to the next
  const float* bias;   // of panel 0's first output, or null
  bool accumulate;
  int streams;            // KernelConfig::streams
  const std::byte* next;  // weights to prefetch for the next call, or null; need not be readable
};

// The format of cached keys or values.
enum class CacheType : int { kF32, kF16, kBF16, kQ8_0 };

// Rows of a cache page: kPageRows (backend/paged_rows.h). An aligned block of positions lies in one
// page: its size is a power of two below kCachePageRows, and it begins at a multiple of its size.
inline constexpr int kCachePageRows = 64;

// A query row and the positions that it attends to, [begin, count). Position i is cache row i where
// i < run, and cache row committed + chain[i - run] after that (AttentionUnit::committed).
struct AttentionRow {
  const float* q;  // [heads][head_dim]
  float* out;      // [heads][head_dim]
  int begin, count, run;
  const int* chain;
};

// The queries of one key/value head: `heads` query heads for each of `row_count` rows. A unit may
// be cut into pieces for several threads (attention/unit_division.h); a piece is a unit with one
// head and one AttentionRow for each query.
struct AttentionUnit {
  const std::byte* const* key_pages;
  const std::byte* const* value_pages;
  int64_t key_offset, value_offset;  // bytes from the start of a page to the head's first row
  int64_t key_row_bytes, value_row_bytes;
  CacheType key_type, value_type;
  int64_t column;  // first element of the head in a row
  int head_dim;
  int committed;
  float scale;
  const AttentionRow* rows;
  int row_count;
  int heads;
  bool prefetches_near;  // KernelConfig::prefetches_near
  std::byte* scratch;    // AttentionOp::scratch bytes, aligned to 64
};

// An attention kernel: run() computes the attention of a unit, and scratch() returns how many
// bytes of AttentionUnit::scratch run() needs.
struct AttentionOp {
  int64_t (*scratch)(const AttentionUnit& unit);
  void (*run)(const AttentionUnit& unit);
};

// The kernels that multiply quantised weights in sets that have both `linear` and `vector_linear`.
enum class ProductUnit : int { kFastest, kVector, kMatrix };

// Tuning parameters of kernels. They affect only speed and change no bit of a result. CheckConfig
// (kernel_config.h) says whether a set of kernels supports them.
struct KernelConfig {
  int most_chunk_rows;     // largest chunk of any tile: one of kChunkRows
  int least_chunk_rows;    // smallest chunk of tiles with several chunks: one of kChunkRows
  int streams;             // quantised panels read in parallel: one, or kMostTogether
  int interleaved_panels;  // unquantised panels that are interleaved: one, or kMostTogether
  bool prefetches_near;    // attention prefetches Q8_0 caches into the L1 cache instead of L2
  ProductUnit unit = ProductUnit::kFastest;  // kFastest: measured for each shape
};

// The configurations that a set of kernels supports.
struct KernelLimits {
  int most_chunk_rows;          // largest chunk for which `linear` is filled in
  int most_interleaved_panels;  // maximum number of panels that may be interleaved
  bool two_units;               // vector_linear is filled in
};

struct Kernels {
  const char* name;
  double crossover_rows;  // Backend::CrossoverRows; measured (docs/performance/data/engine.csv)
  TileKind bf16_tile;     // kind of tile that BF16 weights are multiplied with
  KernelLimits limits;
  // The fastest configurations: `on_amd` as measured on AMD's cores (Zen 4), `elsewhere` as
  // measured on Intel's (Sapphire Rapids) and used on all cores but AMD's.
  KernelConfig on_amd, elsewhere;

  // Fills columns [begin, end) of a tile. `begin` is a multiple of kBlock, and so is `end` unless
  // it is the number of columns.
  void (*make_tile[kTileKinds])(const TileCall& call, int64_t begin, int64_t end);
  // Products, by index into kChunkRows; null for chunks larger than limits.most_chunk_rows.
  void (*linear[kFormats][kChunkSizes])(const LinearCall& call);
  // Products of quantised weights on the vector unit, in sets whose `linear` uses a matrix unit:
  // they give the same bits and are faster for few rows. Null for unquantised formats and in sets
  // without a matrix unit.
  void (*vector_linear[kFormats][kChunkSizes])(const LinearCall& call);

  void (*rms_norm)(const float* x, const float* gain, float eps, int64_t n, float* out);
  // The two steps of rms_norm: rms_scale returns the scale of a row of n elements; scale_row
  // multiplies n consecutive elements of the row by that scale and their gains.
  float (*rms_scale)(const float* x, float eps, int64_t n);
  void (*scale_row)(const float* x, float scale, const float* gain, int64_t n, float* out);
  void (*silu_mul)(float* gate, const float* up, int64_t n);  // gate = silu(gate) * up
  void (*add)(const float* x, float* y, int64_t n);           // y += x
  // Rotates the first rope_dim elements of each head of x [heads][head_dim]; sin and cos
  // [rope_dim / 2].
  void (*rope)(float* x, int64_t heads, int head_dim, int rope_dim, bool interleaved,
               const float* cos, const float* sin);
  AttentionOp attention;
  // Preparing the keys and values of a unit takes about as long as attention of this many queries
  // (rows times heads).
  int few_queries;
  // Computes the attention probabilities of one query instead of its output: rows[0].out [count].
  // REQUIRES: the unit has one row and one head, and rows[0].begin is 0.
  AttentionOp attention_weights;
  // Convert n floats to two-byte cache values, rounded to nearest even. store_half is null in sets
  // without an instruction for the conversion.
  void (*store_half)(const float* x, int64_t n, std::byte* out);
  void (*store_bf16)(const float* x, int64_t n, std::byte* out);
  int64_t (*arg_max)(const float* x, int64_t n);
  // Writes the top `count` of n logits to `top`, highest first, the lower index first among equals.
  // RankedToken::log_share is set to the logit itself. If fewer than `count` logits are above
  // -infinity, the rest of `top` is kNoToken. Returns the sum of e^(x - highest) over all logits,
  // or 0 if the logits are unusable: all are -infinity, or one is NaN, or one other than -infinity
  // exceeds kMostLogit in magnitude.
  float (*top_k)(const float* x, int64_t n, int count, RankedToken* top);
};

const Kernels& PortableKernels();
const Kernels& Avx2Kernels();
const Kernels& AvxVnniKernels();
const Kernels& Avx512VnniKernels();
const Kernels& Avx512Kernels();
const Kernels& AmxKernels();

}  // namespace foretoken
