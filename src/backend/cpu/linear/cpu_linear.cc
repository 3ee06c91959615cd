// Products: panels of outputs are divided among threads, each of which multiplies its panels with
// all tiles of rows.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pack/packed_weight.h"

namespace foretoken {
namespace {

// Kernel calls, pieces of work and strips are multiples of this many panels, except the last of a
// share: the most panels that a kernel reads as parallel streams.
constexpr int64_t kPanelsTogether = 4;
// Threads' shares begin at multiples of this many panels. Four would split a narrow matrix unevenly
// (36 panels into 20 and 16).
constexpr int64_t kShareUnit = 2;

TileKind KindOf(const PackedWeight& w, const Kernels& kernels) {
  if (TraitsOf(w.format()).quantised()) return TileOf(w.format());
  return w.format() == Format::kBF16 ? kernels.bf16_tile : TileKind::kF32;
}

const PackedWeight& Packed(const Weight* weight) {
  return static_cast<const PackedWeight&>(*weight);
}

bool Overlap(const Tensor& a, const Tensor& b) {
  return a.data < b.data + b.rows * b.row_bytes && b.data < a.data + a.rows * a.row_bytes;
}

// Names a group of products in the profile, such as "2048 -> 2048 + 256 + 256".
std::string ProductName(std::span<const LinearOut> group) {
  std::string name = std::to_string(group[0].weight->cols());
  for (size_t i = 0; i < group.size(); ++i) {
    name.append(i == 0 ? " -> " : " + ").append(std::to_string(group[i].weight->rows()));
  }
  return name;
}

void CheckShapes(const Tensor& x, const LinearOut& o) {
  FT_CHECK(o.weight->cols() == x.cols && o.out.rows == x.rows && o.out.cols == o.weight->rows());
  FT_CHECK(o.out.type == DType::kF32);
  FT_CHECK(o.bias.empty() || (o.bias.type == DType::kF32 && o.bias.cols == o.out.cols));
}

// Whether both units have kernels for products with `w`.
bool HasTwoUnits(const Kernels& kernels, const PackedWeight& w) {
  return kernels.vector_linear[static_cast<int>(w.format())][0] != nullptr;
}

// The product of a weight and tiles. It is computed on `unit` if both units have kernels for it.
class Product {
 public:
  Product(const PackedWeight& weight, const Kernels& kernels, const Tiles& tiles, ProductUnit unit)
      : weight_(weight),
        tiles_(tiles),
        kind_(KindOf(weight, kernels)),
        streams_(tiles.config().streams) {
    const auto format = static_cast<int>(weight.format());
    const bool on_vectors = unit == ProductUnit::kVector && HasTwoUnits(kernels, weight);
    run_ = on_vectors ? kernels.vector_linear[format] : kernels.linear[format];
  }

  // Multiplies panels [begin, end) with one tile, into their columns of `o.out`.
  void Multiply(const LinearOut& o, size_t tile, int64_t begin, int64_t end, int thread) const {
    LinearCall call = Call(tile, begin, end, thread);
    const int64_t row = tiles_.tiles()[tile].row;
    call.out = reinterpret_cast<float*>(o.out.data + row * o.out.row_bytes) + begin * kPanel;
    call.out_stride = o.out.row_bytes / 4;
    if (!o.bias.empty()) call.bias = reinterpret_cast<const float*>(o.bias.data) + begin * kPanel;
    call.accumulate = o.accumulate;
    Run(call, tile);
  }
  // Multiplies panels [begin, end) with one tile, into rows of `stride` floats at `out`. `next`: as
  // in LinearCall.
  void Multiply(size_t tile, int64_t begin, int64_t end, int thread, float* out, int64_t stride,
                const std::byte* next) const {
    LinearCall call = Call(tile, begin, end, thread);
    call.next = next;
    call.out = out;
    call.out_stride = stride;
    Run(call, tile);
  }

  // The address of a panel or, where panels are interleaved, of its group of interleaved panels.
  const std::byte* Panel(int64_t panel) const {
    const PanelLayout& layout = weight_.layout();
    return weight_.data() + layout.At(panel - panel % layout.together, 0);
  }

  // Calls work(tile, from, to) for every tile and all panels of [begin, end), `together` at a time.
  // As many tiles as stay in a core's private cache (kResidentTileBytes) are multiplied with all
  // panels before the next tiles are.
  template <typename Work>
  void ForEachTile(int64_t begin, int64_t end, int64_t together, const Work& work) const {
    const size_t count = tiles_.tiles().size();
    const int64_t bytes = std::max<int64_t>(1, tiles_.TileBytes(kind_));
    const auto resident = static_cast<size_t>(std::max<int64_t>(1, kResidentTileBytes / bytes));
    for (size_t first = 0; first < count; first += resident) {
      for (int64_t p = begin; p < end; p += together) {
        for (size_t i = first; i < std::min(count, first + resident); ++i) {
          work(i, p, std::min(end, p + together));
        }
      }
    }
  }

 private:
  LinearCall Call(size_t tile, int64_t begin, int64_t end, int thread) const {
    return {.panels = Panel(begin),
            .layout = weight_.layout(),
            .lead = begin % weight_.layout().together,
            .cols = weight_.cols(),
            .outputs = weight_.rows() - begin * kPanel,
            .panel_end = end - begin,
            .tile = tiles_.Data(kind_, tile, thread),
            .chunks = tiles_.tiles()[tile].chunks,
            .rows = tiles_.tiles()[tile].rows,
            .streams = streams_};
  }
  void Run(const LinearCall& call, size_t tile) const { run_[tiles_.tiles()[tile].size](call); }

  const PackedWeight& weight_;
  const Tiles& tiles_;
  TileKind kind_;
  int streams_;
  void (*const* run_)(const LinearCall& call);
};

// Multiplies panels [begin, end) of one product with every tile.
void MultiplyPanels(const LinearOut& o, const Kernels& kernels, const Tiles& tiles,
                    ProductUnit unit, int64_t begin, int64_t end, int thread) {
  const Product product(Packed(o.weight), kernels, tiles, unit);
  const int64_t together = tiles.tiles().size() == 1 ? end - begin : kPanelsTogether;
  product.ForEachTile(begin, end, together, [&](size_t tile, int64_t from, int64_t to) {
    product.Multiply(o, tile, from, to, thread);
  });
}

// The products with gate and up, SiLU, and the rounding of the result into the tiles that `down` is
// multiplied with. All three are done for one strip (a few adjacent panels of gate and of up)
// before the next, so that the intermediate values never leave a core's private cache.
class GatedProduct {
 public:
  // REQUIRES: called on thread 0.
  GatedProduct(const FeedForwardArgs& args, const Kernels& kernels, const Tiles& in,
               ProductUnit unit, Tiles& inner, int threads, Profile* profile)
      : gate_(Packed(args.gate), kernels, in, unit),
        up_(Packed(args.up), kernels, in, unit),
        kernels_(kernels),
        inner_(inner),
        kind_(KindOf(Packed(args.down), kernels)),
        strip_(StripPanels(Packed(args.gate), in, threads)),
        profile_(profile) {
    if (profile_ == nullptr) return;
    activations_ = profile_->Part(kActivations);
    rounding_ = profile_->Part(kRounding);
  }

  // Panels of gate, and of up, in a strip.
  int64_t strip() const { return strip_; }
  // Multiplies panels [begin, end) of both with every tile. REQUIRES: begin is a multiple of
  // kShareUnit.
  void Multiply(int64_t begin, int64_t end, int thread) const {
    gate_.ForEachTile(begin, end, strip_, [&](size_t tile, int64_t from, int64_t to) {
      MultiplyTile(tile, from, to, thread);
    });
  }

 private:
  void MultiplyTile(size_t tile, int64_t begin, int64_t end, int thread) const {
    alignas(64) float gate[kStripFloats], up[kStripFloats];
    const int64_t stride = strip_ * kPanel;
    gate_.Multiply(tile, begin, end, thread, gate, stride, up_.Panel(begin));
    up_.Multiply(tile, begin, end, thread, up, stride, gate_.Panel(end));
    const int64_t first = begin * kPanel, last = std::min(inner_.cols(), end * kPanel);
    const Profile::Scope activating(profile_, thread, activations_);
    for (int r = 0; r < inner_.tiles()[tile].rows; ++r) {
      kernels_.silu_mul(gate + r * stride, up + r * stride, last - first);
    }
    const Profile::Scope rounding(profile_, thread, rounding_);
    inner_.Fill(kind_, tile, gate, stride, first, last);
  }

  // Floats of gate, and of up, that a thread holds at a time.
  static constexpr int64_t kStripFloats = kMaxTileRows * kPanelsTogether * kPanel;
  static_assert(kShareUnit * kPanel % kBlock == 0);  // a strip begins where a block does
  // Target for the product of a strip's bytes of gate and a tile's rows. Each switch between gate
  // and up begins a new stream, which costs time where rows are few; where they are many,
  // arithmetic hides it.
  static constexpr int64_t kStripBytes = 1 << 20;

  // Panels of a strip. A thread's share of eight panels or more has at least two strips, so that
  // other threads can take the second.
  static int64_t StripPanels(const PackedWeight& gate, const Tiles& in, int threads) {
    const int64_t rows = in.tiles().back().rows;  // the last tile is the largest
    const int64_t share = gate.panels() / threads;
    const int64_t strips = kStripBytes / (gate.layout().panel_bytes * kPanelsTogether * rows);
    const int64_t most = std::min<int64_t>(kMaxTileRows / rows, share / (2 * kPanelsTogether));
    return std::max<int64_t>(1, std::min(strips, most)) * kPanelsTogether;
  }

  Product gate_, up_;
  const Kernels& kernels_;
  Tiles& inner_;
  TileKind kind_;
  int64_t strip_;
  Profile* profile_;
  int activations_ = 0, rounding_ = 0;
};

}  // namespace

void CpuBackend::Announce(std::span<const LinearOut> group) {
  panel_ranges_.assign(static_cast<size_t>(pool_->active()), {});
  for (size_t t = 0; t < panel_ranges_.size(); ++t) {
    int64_t panel = shares_.First(static_cast<int>(t));
    for (const LinearOut& o : group) {
      const PackedWeight& w = Packed(o.weight);
      if (panel < w.panels()) {
        panel_ranges_[t] = {
            .begin = w.data() + w.layout().At(panel, 0),
            .panel_bytes = w.layout().panel_bytes,
            .panels = static_cast<int>(std::min<int64_t>(config_.streams, w.panels() - panel))};
        break;
      }
      panel -= w.panels();
    }
  }
  prefetch_->Announce(panel_ranges_);
}

template <typename Body>
void CpuBackend::EachPanel(Tiles& tiles, std::span<const LinearOut> group, int64_t usual,
                           const Body& body) {
  int64_t panels = 0, unit = kShareUnit;
  for (const LinearOut& o : group) {
    panels += Packed(o.weight).panels();
    unit = std::max(unit, Packed(o.weight).layout().together);
  }
  const TileKind kind = KindOf(Packed(group[0].weight), kernels_);
  Profile* const profile = tiles.HasCopyPerThread() ? profile_ : nullptr;
  const int rounding = profile != nullptr ? profile->Part(kRounding) : 0;
  const auto prepare = [&](int thread) {
    const Profile::Scope scope(profile, thread, rounding);
    tiles.Prepare(kind, thread);
  };
  if (pool_->threads() == 1 || panels <= kPanelsTogether) {
    prepare(0);
    return body(int64_t{0}, panels, 0);
  }
  shares_.Split(pool_->active(), panels, unit, kPanelsTogether, usual);
  Announce(group);
  pool_->RunShared([&](int thread) {
    prepare(thread);
    shares_.Each(thread, [&](int64_t begin, int64_t end) { body(begin, end, thread); });
  });
}

UnitChooser::Call CpuBackend::BeginProducts(const Tiles& tiles, std::span<const LinearOut> group,
                                            bool gated) {
  if (config_.unit != ProductUnit::kFastest) return UnitChooser::Call(config_.unit);
  const Tile& tile = tiles.tiles().front();
  ProductShape shape{.inputs = tiles.cols(), .rows = tile.padded_rows(), .gated = gated};
  bool two_units = false;
  for (const LinearOut& o : group) {
    const PackedWeight& w = Packed(o.weight);
    shape.formats |= 1u << static_cast<int>(w.format());
    shape.outputs += w.rows();
    const auto format = static_cast<int>(w.format());
    two_units |= HasTwoUnits(kernels_, w) &&
                 kernels_.vector_linear[format][tile.size] != kernels_.linear[format][tile.size];
  }
  if (!two_units || tiles.tiles().size() > 1) return UnitChooser::Call(ProductUnit::kMatrix);
  return unit_chooser_.Begin(shape);
}

void CpuBackend::Multiply(Tiles& tiles, std::span<const LinearOut> group) {
  const UnitChooser::Call call = BeginProducts(tiles, group, /*gated=*/false);
  EachPanel(tiles, group, /*usual=*/0, [&](int64_t begin, int64_t end, int thread) {
    int64_t before = 0;  // panels of earlier weights
    for (const LinearOut& o : group) {
      const int64_t own = Packed(o.weight).panels();
      const int64_t from = std::max<int64_t>(0, begin - before), to = std::min(own, end - before);
      if (from < to) MultiplyPanels(o, kernels_, tiles, call.unit(), from, to, thread);
      before += own;
    }
  });
}

bool CpuBackend::MakeTiles(const LinearIn& in, std::span<const LinearOut> group) {
  {
    const Profile::Scope scope(profile_, kNorms);
    const bool overwritten = std::any_of(group.begin(), group.end(),
                                         [&](const LinearOut& o) { return Overlap(in.x, o.out); });
    tiles_.Begin(in, overwritten);
  }
  const Profile::Scope scope(profile_, kRounding);
  for (const LinearOut& o : group) {
    if (!RecordStatus(tiles_.Make(KindOf(Packed(o.weight), kernels_)))) return false;
  }
  return true;
}

void CpuBackend::Linear(const LinearIn& in, std::span<const LinearOut> group) {
  if (in.x.rows == 0) return;
  for (const LinearOut& o : group) CheckShapes(in.x, o);
  if (!MakeTiles(in, group)) return;
  const Profile::Scope scope(profile_, profile_ != nullptr ? ProductName(group) : "");
  Multiply(tiles_, group);
}

void CpuBackend::FeedForward(const FeedForwardArgs& args) {
  const PackedWeight &gate = Packed(args.gate), &up = Packed(args.up), &down = Packed(args.down);
  FT_CHECK(gate.cols() == args.x.x.cols && up.cols() == gate.cols() && up.rows() == gate.rows());
  FT_CHECK(down.cols() == gate.rows() && down.rows() == args.out.cols);
  FT_CHECK(args.out.rows == args.x.x.rows && args.out.type == DType::kF32);
  if (args.x.x.rows == 0) return;
  const LinearOut gates[] = {{.weight = args.gate}, {.weight = args.up}};
  if (!MakeTiles(args.x, gates)) return;
  inner_tiles_.Begin(args.x.x.rows, gate.rows());
  if (!RecordStatus(inner_tiles_.Reserve(KindOf(down, kernels_)))) return;
  {
    const UnitChooser::Call call = BeginProducts(tiles_, gates, /*gated=*/true);
    const GatedProduct gated(args, kernels_, tiles_, call.unit(), inner_tiles_, pool_->active(),
                             profile_);
    const Profile::Scope scope(profile_, "gate and up");
    EachPanel(tiles_, std::span(gates).first(1), gated.strip(),
              [&](int64_t begin, int64_t end, int thread) { gated.Multiply(begin, end, thread); });
  }
  const Profile::Scope scope(profile_, "down");
  const LinearOut out[] = {{.weight = args.down, .out = args.out, .accumulate = true}};
  Multiply(inner_tiles_, out);
}

}  // namespace foretoken
