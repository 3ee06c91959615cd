// Products: panels of outputs split over threads, tiles of rows inside.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_weight.h"

namespace foretoken {
namespace {

// Rows whose tiles are multiplied with one panel after another, so that they stay in a core's own
// cache while the weights stream by.
constexpr int64_t kResidentTileBytes = 512 << 10;
// Panels multiplied with all those tiles before the next ones are read.
constexpr int64_t kPanelsTogether = 4;

TileKind KindOf(const PackedWeight& w, const Kernels& kernels) {
  if (w.format() < Format::kF32) return TileKind::kInt8;
  return w.format() == Format::kBF16 ? kernels.bf16_tile : TileKind::kF32;
}

const PackedWeight& Packed(const LinearOut& out) {
  return static_cast<const PackedWeight&>(*out.weight);
}

void CheckShapes(const Tensor& x, const LinearOut& o) {
  FT_CHECK(o.weight->cols() == x.cols && o.out.rows == x.rows && o.out.cols == o.weight->rows());
  FT_CHECK(o.out.type == DType::kF32);
  FT_CHECK(o.bias.empty() || (o.bias.type == DType::kF32 && o.bias.cols == o.out.cols));
}

// Panels [begin, end) of one product with every tile.
void MultiplyPanels(const LinearOut& o, const Kernels& kernels, const TileMaker& maker,
                    int64_t begin, int64_t end) {
  const PackedWeight& w = Packed(o);
  const TileKind kind = KindOf(w, kernels);
  const std::vector<Tile>& tiles = maker.tiles();
  LinearCall call{.panels = w.data(),
                  .layout = w.layout(),
                  .cols = w.cols(),
                  .outputs = w.rows(),
                  .out_stride = o.out.row_bytes / 4,
                  .bias = reinterpret_cast<const float*>(o.bias.data),
                  .accumulate = o.accumulate};
  const auto resident = static_cast<size_t>(
      std::max<int64_t>(1, kResidentTileBytes / std::max<int64_t>(1, maker.TileBytes(kind))));
  const int64_t together = tiles.size() == 1 ? end - begin : kPanelsTogether;
  for (size_t first = 0; first < tiles.size(); first += resident) {
    const size_t last = std::min(tiles.size(), first + resident);
    for (int64_t p = begin; p < end; p += together) {
      call.panel_begin = p;
      call.panel_end = std::min(end, p + together);
      for (size_t i = first; i < last; ++i) {
        call.tile = maker.Data(kind, i);
        call.chunks = tiles[i].chunks;
        call.rows = tiles[i].rows;
        call.out = reinterpret_cast<float*>(o.out.data + tiles[i].row * o.out.row_bytes);
        kernels.linear[static_cast<int>(w.format())][tiles[i].size](call);
      }
    }
  }
}

}  // namespace

void CpuBackend::Linear(Tensor x, std::span<const LinearOut> group) {
  if (x.rows == 0) return;
  tiles_.Begin(x, kernels_.most_chunk_rows);
  int64_t panels = 0;
  for (const LinearOut& o : group) {
    CheckShapes(x, o);
    tiles_.Make(KindOf(Packed(o), kernels_), kernels_, pool_);
    panels += Packed(o).panels();
  }
  pool_.ParallelFor(panels, 1, [&](int64_t begin, int64_t end) {
    int64_t before = 0;
    for (const LinearOut& o : group) {
      const int64_t own = Packed(o).panels();
      const int64_t from = std::max<int64_t>(0, begin - before), to = std::min(own, end - before);
      if (from < to) MultiplyPanels(o, kernels_, tiles_, from, to);
      before += own;
    }
  });
}

}  // namespace foretoken
