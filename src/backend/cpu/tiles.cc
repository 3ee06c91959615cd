#include "backend/cpu/tiles.h"

#include <algorithm>

namespace foretoken {
namespace {

// Fewer numbers than this are made by the calling thread: a hand-over would take longer.
constexpr int64_t kWorthSharing = 16384;
// Columns of a tile that a thread makes at a time.
constexpr int64_t kPieceColumns = 256;

int StepFor(int rows) {
  int step = 0;
  while (kTileRows[step] < rows) ++step;
  return step;
}

int64_t BytesOf(TileKind kind, int tile_rows, int64_t cols) {
  if (kind == TileKind::kInt8) return cols / kBlock * tile_rows * kTileBlockBytes;
  const int64_t even = cols + cols % 2;
  return even * tile_rows * (kind == TileKind::kF32 ? 4 : 2);
}

}  // namespace

void CutTiles(int rows, std::vector<Tile>& tiles) {
  tiles.clear();
  const int count = (rows + kMaxTile - 1) / kMaxTile;
  for (int i = 0, row = 0; i < count; ++i) {
    const int end = static_cast<int>(static_cast<int64_t>(rows) * (i + 1) / count);
    tiles.push_back({row, end - row, StepFor(end - row)});
    row = end;
  }
}

void TileMaker::Begin(Tensor x) {
  FT_CHECK(x.type == DType::kF32);
  x_ = x;
  made_.fill(false);
  CutTiles(static_cast<int>(x.rows), tiles_);
}

void TileMaker::Make(TileKind kind, const Kernels& kernels, ThreadPool& pool) {
  const int k = static_cast<int>(kind);
  if (made_[k]) return;
  made_[k] = true;
  offsets_[k].clear();
  int64_t bytes = 0;
  for (const Tile& tile : tiles_) {
    offsets_[k].push_back(bytes);
    bytes += (BytesOf(kind, kTileRows[tile.step], x_.cols) + 63) / 64 * 64;
  }
  if (!memory_[k] || memory_[k].get_deleter().bytes < static_cast<size_t>(bytes)) {
    memory_[k] = AllocatePages(static_cast<size_t>(bytes));
    FT_CHECK(memory_[k] != nullptr);
  }
  const int64_t pieces = (x_.cols + kPieceColumns - 1) / kPieceColumns;
  const int64_t count = pieces * static_cast<int64_t>(tiles_.size());
  const int64_t grain = x_.rows * x_.cols < kWorthSharing ? count : 1;
  pool.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto index = static_cast<size_t>(i / pieces);
      const Tile& tile = tiles_[index];
      const TileCall call{.x = reinterpret_cast<const float*>(x_.data + tile.row * x_.row_bytes),
                          .stride = x_.row_bytes / 4,
                          .rows = tile.rows,
                          .tile_rows = kTileRows[tile.step],
                          .tile = memory_[k].get() + offsets_[k][index]};
      const int64_t from = i % pieces * kPieceColumns;
      kernels.make_tile[k](call, from, std::min(x_.cols, from + kPieceColumns));
    }
  });
}

int64_t TileMaker::TileBytes(TileKind kind) const {
  return BytesOf(kind, kTileRows[tiles_[0].step], x_.cols);
}

}  // namespace foretoken
