#include "backend/cpu/rows/tiles.h"

#include <algorithm>

namespace foretoken {
namespace {

// Ops on fewer values than this are not shared among threads: handing over work would take longer.
constexpr int64_t kWorthSharing = 16384;
constexpr int64_t kLineFloats = 16;
constexpr int64_t kPageBytes = 4096;
// Columns of a tile that a thread makes at a time.
constexpr int64_t kPieceColumns = 256;

int ChunkSizeIndex(int rows) {
  int size = 0;
  while (kChunkRows[size] < rows) ++size;
  return size;
}

// The tile of rows [row, row + rows), in chunks of the supported size with the least padding, the
// largest among equals.
Tile BestTile(int row, int rows, const KernelConfig& config) {
  if (rows <= config.most_chunk_rows) return {row, rows, ChunkSizeIndex(rows), 1};
  Tile best;
  for (int size = ChunkSizeIndex(config.most_chunk_rows); size >= 0; --size) {
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
  const int64_t padded_cols = cols + cols % 2;
  return padded_cols * rows * (kind == TileKind::kF32 ? 4 : 2);
}

}  // namespace

void CutTiles(int rows, const KernelConfig& config, std::vector<Tile>& tiles) {
  tiles.clear();
  const int count = (rows + kMaxTileRows - 1) / kMaxTileRows;
  for (int i = 0, row = 0; i < count; ++i) {
    const int end = static_cast<int>(static_cast<int64_t>(rows) * (i + 1) / count);
    tiles.push_back(BestTile(row, end - row, config));
    row = end;
  }
}

void Tiles::Begin(int64_t rows, int64_t cols, int copies) {
  cols_ = cols;
  copies_ = copies;
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
  copy_bytes_[k] = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (copies_ > 1) bytes = copies_ * copy_bytes_[k];
  if (!memory_[k] || memory_[k].get_deleter().bytes < static_cast<size_t>(bytes)) {
    memory_[k] = AllocatePages(static_cast<size_t>(bytes));
    if (memory_[k] == nullptr) return OutOfMemory(static_cast<size_t>(bytes));
  }
  reserved_[k] = true;
  return {};
}

void Tiles::Fill(TileKind kind, size_t tile, const float* x, int64_t stride, int64_t begin,
                 int64_t end, int thread) {
  const int k = static_cast<int>(kind);
  const Tile& t = tiles_[tile];
  const TileCall call{.x = x,
                      .stride = stride,
                      .cols = cols_,
                      .rows = t.rows,
                      .chunk_rows = kChunkRows[t.size],
                      .chunks = t.chunks,
                      .tile = At(k, tile, thread)};
  kernels_.make_tile[k](call, begin, end);
}

void Tiles::Prepare(TileKind kind, int /*thread*/) {
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

void InputTiles::Begin(const LinearIn& in, bool overwritten) {
  FT_CHECK(in.x.type == DType::kF32);
  in_ = in;
  const bool is_small = in.x.rows * in.x.cols < kWorthSharing;
  Tiles::Begin(in.x.rows, in.x.cols, is_small && !overwritten ? pool_.threads() : 1);
  if (in.gain.empty()) return;
  FT_CHECK(in.gain.type == DType::kF32 && in.gain.cols == in.x.cols);
  stride_ = (in.x.rows + kLineFloats - 1) / kLineFloats * kLineFloats;
  scales_.resize(static_cast<size_t>(copies() * stride_));
  if (HasCopyPerThread()) return;
  pool_.ParallelFor(in.x.rows, is_small ? in.x.rows : 1,
                    [&](int64_t begin, int64_t end) { MakeScales(begin, end, scales_.data()); });
}

void InputTiles::MakeScales(int64_t begin, int64_t end, float* scales) const {
  for (int64_t r = begin; r < end; ++r) scales[r] = kernels_.rms_scale(Row(r), in_.eps, cols());
}

Status InputTiles::Make(TileKind kind) {
  if (reserved(kind)) return {};
  FT_RETURN_IF_ERROR(Reserve(kind));
  if (HasCopyPerThread()) return {};
  const int64_t pieces = (cols() + kPieceColumns - 1) / kPieceColumns;
  const int64_t count = pieces * static_cast<int64_t>(tiles().size());
  const int64_t grain = in_.x.rows * cols() < kWorthSharing ? count : 1;
  pool_.ParallelFor(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % pieces * kPieceColumns;
      MakePiece(kind, static_cast<size_t>(i / pieces), from, std::min(cols(), from + kPieceColumns),
                /*thread=*/0);
    }
  });
  return {};
}

void InputTiles::Prepare(TileKind kind, int thread) {
  if (!HasCopyPerThread()) return Tiles::Prepare(kind, thread);
  for (int64_t r = 0; r < in_.x.rows; ++r) {  // other threads wrote parts of these rows
    for (int64_t i = 0; i < cols(); i += kLineFloats) __builtin_prefetch(Row(r) + i);
  }
  if (!in_.gain.empty()) MakeScales(0, in_.x.rows, Scales(thread));
  for (int k = 0; k < kTileKinds; ++k) {
    if (!reserved(static_cast<TileKind>(k))) continue;
    for (size_t tile = 0; tile < tiles().size(); ++tile) {
      for (int64_t from = 0; from < cols(); from += kPieceColumns) {
        MakePiece(static_cast<TileKind>(k), tile, from, std::min(cols(), from + kPieceColumns),
                  thread);
      }
    }
  }
}

void InputTiles::MakePiece(TileKind kind, size_t tile, int64_t begin, int64_t end, int thread) {
  const Tile& t = tiles()[tile];
  if (in_.gain.empty()) {
    return Fill(kind, tile, Row(t.row) + begin, in_.x.row_bytes / 4, begin, end, thread);
  }
  // One cache line longer than a piece, so that rows do not evict each other from the L1 cache.
  constexpr int64_t kStride = kPieceColumns + 16;
  alignas(64) float normed[kMaxTileRows * kStride];
  const float* gain = reinterpret_cast<const float*>(in_.gain.data) + begin;
  for (int r = 0; r < t.rows; ++r) {
    const int64_t row = t.row + r;
    kernels_.scale_row(Row(row) + begin, Scales(thread)[row], gain, end - begin,
                       normed + r * kStride);
  }
  Fill(kind, tile, normed, kStride, begin, end, thread);
}

const float* InputTiles::Row(int64_t row) const {
  return reinterpret_cast<const float*>(in_.x.data + row * in_.x.row_bytes);
}

}  // namespace foretoken
