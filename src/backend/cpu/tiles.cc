#include "backend/cpu/tiles.h"

#include <algorithm>

namespace foretoken {
namespace {

// Fewer numbers than this are made by the calling thread: a hand-over would take longer.
constexpr int64_t kWorthSharing = 16384;
// Columns of a tile that a thread makes at a time.
constexpr int64_t kPieceColumns = 256;

int SizeFor(int rows) {
  int size = 0;
  while (kChunkRows[size] < rows) ++size;
  return size;
}

// The chunks that waste least, the larger of equals.
Tile TileOf(int row, int rows, int most_chunk_rows) {
  Tile best{row, rows, SizeFor(std::min(rows, most_chunk_rows)), 1};
  if (rows <= most_chunk_rows) return best;
  best.chunks = (rows + most_chunk_rows - 1) / most_chunk_rows;
  const int smaller = kChunkRows[best.size - 1];
  if (4 * smaller < 3 * most_chunk_rows) return best;  // too small to be as fast
  const Tile other{row, rows, best.size - 1, (rows + smaller - 1) / smaller};
  const bool fits = other.chunks <= MostChunks(smaller);
  return fits && other.padded_rows() < best.padded_rows() ? other : best;
}

int64_t BytesOf(TileKind kind, int rows, int64_t cols) {
  if (kind == TileKind::kInt8) return cols / kBlock * rows * kTileBlockBytes;
  if (kind == TileKind::kBf16Steps) return (cols + 31) / 32 * rows * 64;
  const int64_t even = cols + cols % 2;
  return even * rows * (kind == TileKind::kF32 ? 4 : 2);
}

}  // namespace

void CutTiles(int rows, int most_chunk_rows, std::vector<Tile>& tiles) {
  tiles.clear();
  const int count = (rows + kMaxTileRows - 1) / kMaxTileRows;
  for (int i = 0, row = 0; i < count; ++i) {
    const int end = static_cast<int>(static_cast<int64_t>(rows) * (i + 1) / count);
    tiles.push_back(TileOf(row, end - row, most_chunk_rows));
    row = end;
  }
}

void TileMaker::Begin(Tensor x, int most_chunk_rows) {
  FT_CHECK(x.type == DType::kF32);
  x_ = x;
  made_.fill(false);
  CutTiles(static_cast<int>(x.rows), most_chunk_rows, tiles_);
}

void TileMaker::Make(TileKind kind, const Kernels& kernels, ThreadPool& pool) {
  const int k = static_cast<int>(kind);
  if (made_[k]) return;
  made_[k] = true;
  offsets_[k].clear();
  int64_t bytes = 0;
  for (const Tile& tile : tiles_) {
    offsets_[k].push_back(bytes);
    bytes += (BytesOf(kind, tile.padded_rows(), x_.cols) + 63) / 64 * 64;
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
                          .cols = x_.cols,
                          .rows = tile.rows,
                          .chunk_rows = kChunkRows[tile.size],
                          .chunks = tile.chunks,
                          .tile = memory_[k].get() + offsets_[k][index]};
      const int64_t from = i % pieces * kPieceColumns;
      kernels.make_tile[k](call, from, std::min(x_.cols, from + kPieceColumns));
    }
  });
}

int64_t TileMaker::TileBytes(TileKind kind) const {
  return BytesOf(kind, tiles_[0].padded_rows(), x_.cols);
}

}  // namespace foretoken
