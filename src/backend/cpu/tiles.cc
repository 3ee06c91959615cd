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

// The chunks that waste least, the larger of equals; none where too many would be needed.
Tile TileOf(int row, int rows, const KernelConfig& config) {
  if (rows <= config.most_chunk_rows) return {row, rows, SizeFor(rows), 1};
  Tile best;
  for (int size = SizeFor(config.most_chunk_rows); size >= 0; --size) {
    const int chunk_rows = kChunkRows[size];
    if (chunk_rows < config.least_chunk_rows) break;
    const Tile tile{row, rows, size, (rows + chunk_rows - 1) / chunk_rows};
    if (tile.chunks > MostChunks(chunk_rows)) continue;
    if (best.chunks == 0 || tile.padded_rows() < best.padded_rows()) best = tile;
  }
  return best;
}

int64_t BytesOf(TileKind kind, int rows, int64_t cols) {
  if (static_cast<int>(kind) < kInt8TileKinds) return cols / kBlock * rows * TileBlockBytes(kind);
  if (kind == TileKind::kBf16Steps) return (cols + 31) / 32 * rows * 64;
  const int64_t even = cols + cols % 2;
  return even * rows * (kind == TileKind::kF32 ? 4 : 2);
}

}  // namespace

void CutTiles(int rows, const KernelConfig& config, std::vector<Tile>& tiles) {
  tiles.clear();
  const int count = (rows + kMaxTileRows - 1) / kMaxTileRows;
  for (int i = 0, row = 0; i < count; ++i) {
    const int end = static_cast<int>(static_cast<int64_t>(rows) * (i + 1) / count);
    tiles.push_back(TileOf(row, end - row, config));
    row = end;
  }
}

void Tiles::Begin(int64_t rows, int64_t cols) {
  cols_ = cols;
  reserved_.fill(false);
  CutTiles(static_cast<int>(rows), config_, tiles_);
}

Status Tiles::Reserve(TileKind kind) {
  const int k = static_cast<int>(kind);
  if (reserved_[k]) return {};
  offsets_[k].clear();
  int64_t bytes = 0;
  for (const Tile& tile : tiles_) {
    offsets_[k].push_back(bytes);
    bytes += (BytesOf(kind, tile.padded_rows(), cols_) + 63) / 64 * 64;
  }
  if (!memory_[k] || memory_[k].get_deleter().bytes < static_cast<size_t>(bytes)) {
    memory_[k] = AllocatePages(static_cast<size_t>(bytes));
    if (memory_[k] == nullptr) return OutOfMemory(static_cast<size_t>(bytes));
  }
  reserved_[k] = true;
  return {};
}

void Tiles::Fill(TileKind kind, size_t tile, const float* x, int64_t stride, int64_t begin,
                 int64_t end) {
  const int k = static_cast<int>(kind);
  const Tile& t = tiles_[tile];
  const TileCall call{.x = x,
                      .stride = stride,
                      .cols = cols_,
                      .rows = t.rows,
                      .chunk_rows = kChunkRows[t.size],
                      .chunks = t.chunks,
                      .tile = memory_[k].get() + offsets_[k][tile]};
  kernels_.make_tile[k](call, begin, end);
}

void Tiles::BringNear(TileKind kind) const {
  const int k = static_cast<int>(kind);
  int64_t bytes = 0;
  for (size_t tile = 0; tile < tiles_.size() && bytes < kResidentTileBytes; ++tile) {
    bytes = offsets_[k][tile] + BytesOf(kind, tiles_[tile].padded_rows(), cols_);
  }
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(memory_[k].get() + i, 0, 2);
}

int64_t Tiles::TileBytes(TileKind kind) const {
  return BytesOf(kind, tiles_[0].padded_rows(), cols_);
}

void InputTiles::Begin(const LinearIn& in) {
  FT_CHECK(in.x.type == DType::kF32);
  in_ = in;
  Tiles::Begin(in.x.rows, in.x.cols);
  if (in.x.rows * in.x.cols < kWorthSharing) {  // one thread reads what several wrote
    for (int64_t r = 0; r < in.x.rows; ++r) {
      for (int64_t i = 0; i < in.x.cols; i += 16) __builtin_prefetch(Row(r) + i);
    }
  }
  if (in.gain.empty()) return;
  FT_CHECK(in.gain.type == DType::kF32 && in.gain.cols == in.x.cols);
  scales_.resize(static_cast<size_t>(in.x.rows));
  const int64_t grain = in.x.rows * in.x.cols < kWorthSharing ? in.x.rows : 1;
  pool_.ParallelFor(in.x.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      scales_[static_cast<size_t>(r)] = kernels_.rms_scale(Row(r), in.eps, in.x.cols);
    }
  });
}

Status InputTiles::Make(TileKind kind) {
  if (reserved(kind)) return {};
  FT_RETURN_IF_ERROR(Reserve(kind));
  const int64_t pieces = (cols() + kPieceColumns - 1) / kPieceColumns;
  const int64_t count = pieces * static_cast<int64_t>(tiles().size());
  const int64_t grain = in_.x.rows * cols() < kWorthSharing ? count : 1;
  pool_.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % pieces * kPieceColumns;
      MakePiece(kind, static_cast<size_t>(i / pieces), from,
                std::min(cols(), from + kPieceColumns));
    }
  });
  return {};
}

void InputTiles::MakePiece(TileKind kind, size_t tile, int64_t begin, int64_t end) {
  const Tile& t = tiles()[tile];
  if (in_.gain.empty()) {
    return Fill(kind, tile, Row(t.row) + begin, in_.x.row_bytes / 4, begin, end);
  }
  // Rows a whole number of lines and one more apart do not push each other out of the first cache.
  constexpr int64_t kStride = kPieceColumns + 16;
  alignas(64) float normed[kMaxTileRows * kStride];
  const float* gain = reinterpret_cast<const float*>(in_.gain.data) + begin;
  for (int r = 0; r < t.rows; ++r) {
    const int64_t row = t.row + r;
    kernels_.scale_row(Row(row) + begin, scales_[static_cast<size_t>(row)], gain, end - begin,
                       normed + r * kStride);
  }
  Fill(kind, tile, normed, kStride, begin, end);
}

const float* InputTiles::Row(int64_t row) const {
  return reinterpret_cast<const float*>(in_.x.data + row * in_.x.row_bytes);
}

}  // namespace foretoken
