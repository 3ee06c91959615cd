// Activation rows cut into tiles, in the layout that each kind of weight multiplies with.
#pragma once

#include <array>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/page_memory.h"
#include "backend/tensor.h"
#include "base/thread_pool.h"

namespace foretoken {

struct Tile {
  int row = 0;  // first row
  int rows = 0;
  int size = 0;  // index into kChunkRows: the kernel to use
  int chunks = 0;

  int padded_rows() const { return chunks * kChunkRows[size]; }
};

// Cuts `rows` into tiles of at most kMaxTileRows rows, as even as possible, with little padding.
void CutTiles(int rows, int most_chunk_rows, std::vector<Tile>& tiles);

// Keeps its memory from call to call. Thread-safety: one caller.
class TileMaker {
 public:
  // Cuts x [rows, cols] f32 into tiles of chunks of at most `most_chunk_rows`.
  void Begin(Tensor x, int most_chunk_rows);
  const std::vector<Tile>& tiles() const { return tiles_; }
  // Makes the tiles of `kind` unless this Begin's already exist.
  void Make(TileKind kind, const Kernels& kernels, ThreadPool& pool);
  const std::byte* Data(TileKind kind, size_t tile) const {
    return memory_[static_cast<int>(kind)].get() + offsets_[static_cast<int>(kind)][tile];
  }
  // Bytes of the first tile.
  int64_t TileBytes(TileKind kind) const;

 private:
  Tensor x_;
  std::vector<Tile> tiles_;
  std::array<bool, kTileKinds> made_{};
  std::array<PageMemory, kTileKinds> memory_;
  std::array<std::vector<int64_t>, kTileKinds> offsets_;
};

}  // namespace foretoken
