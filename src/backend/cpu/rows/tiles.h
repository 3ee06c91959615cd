// Activation rows cut into tiles, in the layout that each kind of weight is multiplied with.
#pragma once

#include <array>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/page_memory.h"
#include "base/thread_pool.h"

namespace foretoken {

struct Tile {
  int row = 0;  // first row
  int rows = 0;
  int size = 0;  // index into kChunkRows: the kernel to use
  int chunks = 0;

  int padded_rows() const { return chunks * kChunkRows[size]; }
};

// Bytes of the tiles that are multiplied with all panels before the next tiles are. These tiles
// stay in a core's own cache while weights are streamed from memory.
inline constexpr int64_t kResidentTileBytes = 512 << 10;

// Cuts `rows` rows into tiles of at most kMaxTileRows, with little padding. Their sizes differ by
// at most one row, and no tile is larger than the last.
void CutTiles(int rows, const KernelConfig& config, std::vector<Tile>& tiles);

// Tiles of activation rows. Keeps its memory from call to call. Thread-safety: one caller, except
// for Fill, Data and Prepare.
class Tiles {
 public:
  // REQUIRES: CheckConfig(kernels, config) is ok.
  Tiles(const Kernels& kernels, const KernelConfig& config) : kernels_(kernels), config_(config) {}

  virtual ~Tiles() = default;
  // Cuts `rows` rows of `cols` values into tiles, which have no memory and no content yet.
  // `copies`: the number of copies of each tile, one for each thread; 1: all threads share one
  // copy.
  void Begin(int64_t rows, int64_t cols, int copies = 1);
  const std::vector<Tile>& tiles() const { return tiles_; }
  int64_t cols() const { return cols_; }
  const KernelConfig& config() const { return config_; }
  // Reserves memory for the tiles of `kind`. Errors: out of memory.
  Status Reserve(TileKind kind);
  // Whether memory for the tiles of `kind` was reserved since the last Begin.
  bool reserved(TileKind kind) const { return reserved_[static_cast<int>(kind)]; }
  // Fills columns [begin, end) of a tile, in the copy of thread `thread` where each thread has its
  // own. `begin` is a multiple of kBlock, and so is `end` unless it is cols(). `x` is the first of
  // these columns in the tile's first row; rows are `stride` floats apart.
  void Fill(TileKind kind, size_t tile, const float* x, int64_t stride, int64_t begin, int64_t end,
            int thread = 0);
  const std::byte* Data(TileKind kind, size_t tile, int thread) const {
    return At(static_cast<int>(kind), tile, thread);
  }
  // Called by each thread before it multiplies with tiles. Those of `kind` are used first.
  // Prefetches the tiles of `kind` that stay in a core's own cache: other threads may have made
  // them. Lines that are prefetched together arrive faster than one by one.
  virtual void Prepare(TileKind kind, int thread);
  // Whether every thread has a copy of the tiles, made by Prepare.
  bool HasCopyPerThread() const { return copies_ > 1; }
  // Bytes of the first tile.
  int64_t TileBytes(TileKind kind) const;

 protected:
  const Kernels& kernels_;
  int copies() const { return copies_; }

 private:
  std::byte* At(int kind, size_t tile, int thread) const {
    const int64_t copy = copies_ == 1 ? 0 : thread * copy_bytes_[kind];
    return memory_[kind].get() + copy + offsets_[kind][tile];
  }

  const KernelConfig config_;
  int64_t cols_ = 0;
  int copies_ = 1;
  std::vector<Tile> tiles_;
  std::array<bool, kTileKinds> reserved_{};
  std::array<PageMemory, kTileKinds> memory_;
  std::array<std::vector<int64_t>, kTileKinds> offsets_;  // bytes from the start of a copy
  std::array<int64_t, kTileKinds> copy_bytes_{};
};

// Tiles of a product's input. If the input has few values and the product does not overwrite them,
// every thread makes its own copy of all tiles when the product begins. With a common copy, threads
// would wait for the thread that makes it, and then fetch it from another core's cache.
class InputTiles : public Tiles {
 public:
  InputTiles(const Kernels& kernels, const KernelConfig& config, ThreadPool& pool)
      : Tiles(kernels, config), pool_(pool) {}

  // `overwritten`: whether the product writes to these rows.
  void Begin(const LinearIn& in, bool overwritten);
  // Makes the tiles of `kind`, unless they were made since the last Begin. Only reserves memory
  // where each thread makes its own copy in Prepare. Errors: out of memory.
  Status Make(TileKind kind);
  void Prepare(TileKind kind, int thread) override;

 private:
  // Computes the norm's scales of rows [begin, end).
  void MakeScales(int64_t begin, int64_t end, float* scales) const;
  float* Scales(int thread) { return scales_.data() + (HasCopyPerThread() ? thread * stride_ : 0); }
  // Makes columns [begin, end) of a tile, from the rows as they are or from their norm.
  void MakePiece(TileKind kind, size_t tile, int64_t begin, int64_t end, int thread);
  const float* Row(int64_t row) const;

  ThreadPool& pool_;
  LinearIn in_ = Tensor{};
  std::vector<float> scales_;  // of the norm: [rows], or [threads][stride_]
  int64_t stride_ = 0;
};

}  // namespace foretoken
