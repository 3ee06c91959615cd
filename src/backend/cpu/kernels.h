// What the instruction sets have in common: the layout of packed weights and of activation tiles,
// and the table of functions that each instruction set fills in.
//
// Files compiled for one instruction set include only this header and vec.h, never a header with
// inline functions of the standard library: the linker keeps one copy of such a function, and it
// must not be the one that needs AVX-512. Functions of this header are inlined always, so that no
// copy of them exists. (tools/isa_symbols.py checks that.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"

#define FT_INLINE [[gnu::always_inline]] inline

namespace foretoken {

// Weights are packed into panels of 16 outputs, so that a vector lane is an output: no sums across
// lanes, and each output is summed over its inputs in ascending order whatever is computed beside
// it.
inline constexpr int kPanel = 16;
inline constexpr int kBlock = 32;   // inputs that share an activation scale
inline constexpr int kSuper = 256;  // inputs that share the scales of a K format

enum class Format : int {
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kF32,
  kF16,
  kBF16
};
inline constexpr int kFormats = 11;
inline constexpr int kQuantisedFormats = 8;  // the first

// A quantised panel is one stream, read from its first byte to its last: groups of eight blocks
// (the last may have fewer), of each group first the scales, up to a multiple of 64 bytes, then
// block after block its codes and high bits.
//   codes: per block 8 groups of 64 bytes; byte 4 * lane + j of group g is the code of input 4 g +
//   j
//          of that lane's output. 8-bit formats store the groups; 4-bit ones store groups g and g +
//          4 as the low and high halves of one 64-byte vector. Codes are unsigned: value = d (code
//          - zero) or d code + m or d code - m.
//   high:  the fifth bits of a block as one vector (bit g of a byte belongs to group g), or the top
//          two bits as two vectors (bits 2 (g % 4) of vector g / 4).
//   scale: per block 16 half-precision d, then 16 m where the format has them; K formats have them
//          per group, followed by 16 sub-scales (and 16 sub-minima) of a byte per sub-block.
// Unquantised panels are [cols][16] numbers, BF16 [cols / 2][16][2]. Where a core best reads a
// single stream, four of them take turns in it, a slab each, so that a part of the activations is
// near for all four.
inline constexpr int kGroupBlocks = kSuper / kBlock;
inline constexpr int kMostTogether = 4;  // panels that take turns

struct PanelLayout {
  int64_t code_bytes = 0;   // a block
  int64_t high_bytes = 0;   // a block
  int64_t scale_bytes = 0;  // a block, of K formats a group
  bool super = false;       // a K format
  int64_t panel_bytes = 0;
  int64_t together = 1;    // panels that take turns; a weight is padded to a multiple
  int64_t slab_bytes = 1;  // of a panel's turn, but for its last: where `together` is not 1

  // Of a weight.
  FT_INLINE constexpr int64_t Bytes(int64_t panels) const {
    return (panels + together - 1) / together * together * panel_bytes;
  }
  // Where byte `byte` of a panel lies, from the first byte of panel 0.
  FT_INLINE constexpr int64_t At(int64_t panel, int64_t byte) const {
    if (together == 1) return panel * panel_bytes + byte;
    const int64_t slab = byte / slab_bytes * slab_bytes;
    const int64_t rest = panel_bytes - slab;
    return panel / together * together * panel_bytes + slab * together +
           panel % together * (rest < slab_bytes ? rest : slab_bytes) + byte - slab;
  }
  // Of a group of `blocks` blocks; multiples of 64.
  FT_INLINE constexpr int64_t ScaleBytes(int64_t blocks) const {
    return ((super ? scale_bytes : blocks * scale_bytes) + 63) / 64 * 64;
  }
  FT_INLINE constexpr int64_t GroupBytes(int64_t blocks) const {
    return ScaleBytes(blocks) + blocks * (code_bytes + high_bytes);
  }
};

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
  switch (format) {
    case Format::kQ8_0:
      return TileKind::kInt8Zero128;
    case Format::kQ4_0:
      return TileKind::kInt8Zero8;
    case Format::kQ5_0:
      return TileKind::kInt8Zero16;
    case Format::kQ6_K:
      return TileKind::kInt8Zero32;
    default:
      return TileKind::kInt8Sum;
  }
}

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
  const std::byte* keys;
  const std::byte* values;
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
  TileKind bf16_tile;  // what products with BF16 weights take
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
