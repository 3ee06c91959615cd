// What the instruction sets have in common: the layout of activation tiles, the calls of kernels,
// and the table of functions that each instruction set fills in. Files compiled for one instruction
// set include only this header and vec.h (isa/always_inline.h tells why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/isa/always_inline.h"
#include "backend/cpu/pack/number_format.h"
#include "base/types.h"

namespace foretoken {

// Activations are rounded to whole multiples, at most 127, of a power of two that a block of a row
// shares: its unit. 1.5 * 2^23 units are the block's base. A sum of whole numbers that starts from
// the bits of the base is, read as a float, the base plus that many units, exactly, while the sum's
// magnitude is below 2^22: so a number is rounded by adding the base to it, and a sum of products
// becomes a float, in units, by subtracting it. Neither takes a multiplication, which on Zen 4
// would have to share its place with the products.
//
// How a tile of activation rows is laid out for the products of a format. Of int8, per block and
// chunk: codes [rows][32] int8, [rows] the f32 base, and for each row what formats of a kind take
// besides.
enum class TileKind : int {
  kInt8Sum,  // the f32 sum of the codes in units
  // The i32 that a sum over unsigned weight codes starts from: the bits of the base - zero * sum.
  kInt8Zero8,
  kInt8Zero16,
  kInt8Zero128,
  kInt8Zero32,  // two of them, [rows] of the first sixteen and [rows] of the last
  kBf16Pairs,   // per chunk [cols / 2][rows][2]
  kBf16Steps,   // per chunk [cols / 32][rows][32], the last step filled with zeros
  kF32,         // per chunk [cols][rows], an odd last column followed by zeros
};
inline constexpr int kTileKinds = 8;
inline constexpr int kInt8TileKinds = 5;

// Of a row's block in an int8 tile.
FT_INLINE constexpr int64_t TileBlockBytes(TileKind kind) {
  return kBlock + 4 * (kind == TileKind::kInt8Zero32 ? 3 : 2);
}

// What products with a quantised format take.
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
// A format with another zero, or with halves, needs a kind of its own.
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

// Rows multiplied together, their sums in registers. A tile is some chunks of one of these sizes,
// the last padded with zeros; sizes of which MostChunks is one only come alone.
inline constexpr int kChunkRows[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
inline constexpr int kChunkSizes = 9;
inline constexpr int kMaxTileRows = 64;
FT_INLINE constexpr int MostChunks(int chunk_rows) {
  return chunk_rows % 4 != 0 ? 1 : kMaxTileRows / chunk_rows;
}

// Rows x [rows, cols] that become a tile.
struct TileCall {
  const float* x;  // the first column to fill of the first row
  int64_t stride;  // floats
  int64_t cols;    // of the whole row
  int rows, chunk_rows, chunks;
  std::byte* tile;
};

// Multiplies panels [panel_begin, panel_end) with one tile.
struct LinearCall {
  const std::byte* panels;
  PanelLayout layout;
  int64_t lead;  // where panels take turns, those between `panels` and panel 0
  int64_t cols;
  int64_t outputs;  // of the whole matrix; the last panel may be partly padding
  int64_t panel_begin, panel_end;
  const std::byte* tile;
  int chunks;
  int rows;  // of the tile that are wanted
  float* out;
  int64_t out_stride;  // floats
  const float* bias;   // or null
  bool accumulate;
  int streams;            // KernelConfig::streams
  const std::byte* next;  // what will be read after these panels, or null: need not be valid
};

// A row of keys or values as stored: where, and in which format.
enum class CacheType : int { kF32, kF16, kBF16, kQ8_0 };

// Rows of a page of a cache: those of PagedRows (backend/paged_rows.h). Positions from a multiple
// of a smaller power of two on, up to the next one, lie in one page.
inline constexpr int kCachePageRows = 64;

// One query row and what it sees: positions [begin, count). Position i is cache row i for i < run,
// and after that row chain[i - run] of those behind the committed ones.
struct AttentionRow {
  const float* q;  // [heads][head_dim]
  float* out;      // [heads][head_dim]
  int begin, count, run;
  const int* chain;
};

// Queries of one key/value head: `heads` query heads for each of some rows. Of a unit that was cut,
// each query is a row of its own, with one head.
struct AttentionUnit {
  const std::byte* const* key_pages;
  const std::byte* const* value_pages;
  int64_t key_offset, value_offset;  // from the begin of a page to the first row that is read of it
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
  std::byte* scratch;    // what the op asks for, on a multiple of 64
};

// Attention of a unit, and the bytes of scratch that it takes.
struct AttentionOp {
  int64_t (*scratch)(const AttentionUnit& unit);
  void (*run)(const AttentionUnit& unit);
};

// Which kernels multiply quantised weights where a set has two ways, `linear` and `vector_linear`.
enum class ProductUnit : int { kFastest, kVector, kMatrix };

// How kernels are driven: a matter of speed, which changes no bit of a result. What a set of
// kernels can run of it, kernel_config.h tells.
struct KernelConfig {
  int most_chunk_rows;   // of a tile: one of kChunkRows
  int least_chunk_rows;  // of a tile with several chunks: one of kChunkRows
  int streams;           // quantised panels that are read side by side: one, or kMostTogether
  int turns;             // unquantised panels that take turns: one, or kMostTogether
  bool prefetches_near;  // attention prefetches into the first cache, not the second
  ProductUnit unit = ProductUnit::kFastest;  // measured for each shape, or always the same
};

// The configurations that a set of kernels admits.
struct KernelLimits {
  int most_chunk_rows;  // products with larger chunks do not exist
  int most_turns;       // a layout with more is not understood
  bool two_units;       // vector_linear is there
};

struct Kernels {
  const char* name;
  double crossover_rows;  // as of Backend::CrossoverRows (docs/performance: zen4.md, avx2.md, ...)
  TileKind bf16_tile;     // what products with BF16 weights take
  KernelLimits limits;
  // The fastest configurations, as measured: on AMD's cores (Zen 4) and on Intel's (Sapphire
  // Rapids), which serve for all others.
  KernelConfig on_amd, elsewhere;

  // Fills columns [begin, end) of a tile: multiples of kBlock, but for the last column.
  void (*make_tile[kTileKinds])(const TileCall& call, int64_t begin, int64_t end);
  // By index into kChunkRows, up to limits.most_chunk_rows.
  void (*linear[kFormats][kChunkSizes])(const LinearCall& call);
  // The same on the vector unit, where `linear` holds those of a matrix unit and both have the same
  // bits: faster for few rows. Null for other formats and in sets without a matrix unit.
  void (*vector_linear[kFormats][kChunkSizes])(const LinearCall& call);

  void (*rms_norm)(const float* x, const float* gain, float eps, int64_t n, float* out);
  // Its two steps: the factor of a row of n, and any part of the row times that and the gain.
  float (*rms_scale)(const float* x, float eps, int64_t n);
  void (*scale_row)(const float* x, float scale, const float* gain, int64_t n, float* out);
  void (*silu_mul)(float* gate, const float* up, int64_t n);
  void (*add)(const float* x, float* y, int64_t n);
  // Rotates heads of `head_dim`; sin and cos [rope_dim / 2].
  void (*rope)(float* x, int64_t heads, int head_dim, int rope_dim, bool interleaved,
               const float* cos, const float* sin);
  AttentionOp attention;
  // Preparing the keys and values of a unit takes about as long as attention of so many queries
  // (rows times heads).
  int few_queries;
  // Probabilities instead of mixed values: unit.rows[r].out [heads][count] gets them.
  AttentionOp attention_weights;
  // n numbers of a cache, rounded to nearest even; null where the machine has no instruction.
  void (*store_half)(const float* x, int64_t n, std::byte* out);
  void (*store_bf16)(const float* x, int64_t n, std::byte* out);
  int64_t (*arg_max)(const float* x, int64_t n);
  // The `count` highest of n numbers, highest first, the lower index of equals, with the numbers
  // themselves as log_share; kNoToken where there are no more above -infinity. Returns the sum of
  // e^x over e^highest, 0 where a number is none or beyond kMostLogit.
  float (*top_k)(const float* x, int64_t n, int count, RankedToken* top);
};

const Kernels& PortableKernels();
const Kernels& Avx2Kernels();
const Kernels& AvxVnniKernels();
const Kernels& Avx512VnniKernels();
const Kernels& Avx512Kernels();
const Kernels& AmxKernels();

}  // namespace foretoken
