// Products: panels of outputs split over threads, tiles of rows inside.
#include <algorithm>
#include <atomic>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_weight.h"

namespace foretoken {
namespace {

// Rows whose tiles are multiplied with one panel after another, so that they stay in a core's own
// cache while the weights stream by.
constexpr int64_t kResidentTileBytes = 512 << 10;
// Panels multiplied with all those tiles before the next ones are read.
constexpr int64_t kPanelsTogether = 4;

// Panels that a thread takes at least: as many as are read side by side.
constexpr int64_t kFewestPanels = 4;

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

// The panels of each thread's first piece: half of its share.
int64_t FirstPiece(int64_t count, int threads) {
  return std::max(kFewestPanels, count / (2 * threads) / kFewestPanels * kFewestPanels);
}

// Calls body(begin, end) for pieces of [0, count): a fixed first one a thread, then half of a
// thread's share of what is left, on whichever thread is free. Threads that wait for the same
// memory are not equally fast.
template <typename Body>
void EachPiece(ThreadPool& pool, int64_t count, const Body& body) {
  const int64_t first = FirstPiece(count, pool.threads());
  std::atomic<int64_t> next{first * pool.threads()};
  pool.Run([&](int thread) {
    const int64_t own = first * thread;
    if (own < count) body(own, std::min(count, own + first));
    int64_t begin = next.load();
    while (begin < count) {
      const int64_t end = std::min(count, begin + FirstPiece(count - begin, pool.threads()));
      if (!next.compare_exchange_weak(begin, end)) continue;
      body(begin, end);
      begin = next.load();
    }
  });
}

}  // namespace

void CpuBackend::Announce(std::span<const LinearOut> group, int64_t panels) {
  stretches_.assign(static_cast<size_t>(pool_.threads()), {});
  const int64_t first = FirstPiece(panels, pool_.threads());
  for (size_t t = 0; t < stretches_.size(); ++t) {
    int64_t panel = first * static_cast<int64_t>(t);
    for (const LinearOut& o : group) {
      const PackedWeight& w = Packed(o);
      if (panel < w.panels()) {
        stretches_[t] = {.begin = w.data() + panel * w.layout().panel_bytes,
                         .panel_bytes = w.layout().panel_bytes,
                         .panels = static_cast<int>(std::min(kFewestPanels, w.panels() - panel))};
        break;
      }
      panel -= w.panels();
    }
  }
  prefetch_.Announce(stretches_);
}

void CpuBackend::Linear(Tensor x, std::span<const LinearOut> group) {
  if (x.rows == 0) return;
  tiles_.Begin(x, kernels_.most_chunk_rows);
  int64_t panels = 0;
  for (const LinearOut& o : group) {
    CheckShapes(x, o);
    tiles_.Make(KindOf(Packed(o), kernels_), kernels_, pool_);
    panels += Packed(o).panels();
  }
  const auto multiply = [&](int64_t begin, int64_t end) {
    int64_t before = 0;
    for (const LinearOut& o : group) {
      const int64_t own = Packed(o).panels();
      const int64_t from = std::max<int64_t>(0, begin - before), to = std::min(own, end - before);
      if (from < to) MultiplyPanels(o, kernels_, tiles_, from, to);
      before += own;
    }
  };
  if (pool_.threads() == 1 || panels <= kFewestPanels) return multiply(0, panels);
  Announce(group, panels);
  EachPiece(pool_, panels, multiply);
}

}  // namespace foretoken
