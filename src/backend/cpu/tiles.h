// Activation rows cut into tiles, in the layout that each kind of weight multiplies with.
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

// Rows whose tiles are multiplied with one panel after another, so that they stay in a core's own
// cache while the weights stream by.
inline constexpr int64_t kResidentTileBytes = 512 << 10;

// Cuts `rows` into tiles of at most kMaxTileRows rows, as even as possible, none larger than the
// last, with little padding.
void CutTiles(int rows, const KernelConfig& config, std::vector<Tile>& tiles);

// Keeps its memory from call to call. Thread-safety: one caller, but for Fill and Data.
class Tiles {
 public:
  // REQUIRES: CheckConfig(kernels, config).
  Tiles(const Kernels& kernels, const KernelConfig& config) : kernels_(kernels), config_(config) {}

  // Cuts `rows` rows of `cols` numbers into tiles, of which there are none as yet.
  void Begin(int64_t rows, int64_t cols);
  const std::vector<Tile>& tiles() const { return tiles_; }
  int64_t cols() const { return cols_; }
  const KernelConfig& config() const { return config_; }
  // Makes room for the tiles of `kind`. Errors: out of memory.
  Status Reserve(TileKind kind);
  // Whether this Begin's have it.
  bool reserved(TileKind kind) const { return reserved_[static_cast<int>(kind)]; }
  // Fills columns [begin, end) of a tile: multiples of kBlock, but for the last column. `x` is the
  // first of them in the tile's first row; rows are `stride` floats apart.
  void Fill(TileKind kind, size_t tile, const float* x, int64_t stride, int64_t begin, int64_t end);
  const std::byte* Data(TileKind kind, size_t tile) const {
    return memory_[static_cast<int>(kind)].get() + offsets_[static_cast<int>(kind)][tile];
  }
  // Asks for the first tiles, as far as they stay in a core's own cache. What other threads made
  // lies in theirs; asked for all at once it arrives many lines at a time.
  void BringNear(TileKind kind) const;
  // Bytes of the first tile.
  int64_t TileBytes(TileKind kind) const;

 protected:
  const Kernels& kernels_;

 private:
  const KernelConfig config_;
  int64_t cols_ = 0;
  std::vector<Tile> tiles_;
  std::array<bool, kTileKinds> reserved_{};
  std::array<PageMemory, kTileKinds> memory_;
  std::array<std::vector<int64_t>, kTileKinds> offsets_;
};

// The tiles of what a product takes.
class InputTiles : public Tiles {
 public:
  InputTiles(const Kernels& kernels, const KernelConfig& config, ThreadPool& pool)
      : Tiles(kernels, config), pool_(pool) {}

  void Begin(const LinearIn& in);
  // Makes the tiles of `kind` unless this Begin's already exist. Errors: out of memory.
  Status Make(TileKind kind);

 private:
  // Columns [begin, end) of a tile, from the rows as they are or from their norm.
  void MakePiece(TileKind kind, size_t tile, int64_t begin, int64_t end);
  const float* Row(int64_t row) const;

  ThreadPool& pool_;
  LinearIn in_ = Tensor{};
  std::vector<float> scales_;  // [rows] of the norm
};

}  // namespace foretoken
