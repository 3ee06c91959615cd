// Attention: units of a few rows times the heads that share a key/value head, divided among
// threads.
#include <algorithm>

#include "backend/cpu/attention/unit_division.h"
#include "backend/cpu/cpu_backend.h"

namespace foretoken {
namespace {

// Rows of the pass whose queries one unit holds: they and their sums stay in a core's own cache.
constexpr int kMostRows = 16;

CacheType CacheTypeOf(DType type) {
  if (type == DType::kF32) return CacheType::kF32;
  if (type == DType::kF16) return CacheType::kF16;
  if (type == DType::kBF16) return CacheType::kBF16;
  FT_CHECK(type == DType::kQ8_0);
  return CacheType::kQ8_0;
}

// The unit without its rows, and its head not chosen.
AttentionUnit UnitOf(const Tensor& keys, const Tensor& values, int head_dim, float scale) {
  FT_CHECK(keys.group_cols == values.group_cols);
  FT_CHECK(keys.group_cols == 0 || keys.group_cols == head_dim);
  return {.key_row_bytes = keys.row_bytes,
          .value_row_bytes = values.row_bytes,
          .key_type = CacheTypeOf(keys.type),
          .value_type = CacheTypeOf(values.type),
          .head_dim = head_dim,
          .scale = scale};
}

// Where key/value head h begins.
void ChooseHead(const Tensor& keys, const Tensor& values, int64_t h, AttentionUnit& u) {
  u.keys = keys.data + (keys.group_cols == 0 ? 0 : h * keys.group_bytes);
  u.values = values.data + (values.group_cols == 0 ? 0 : h * values.group_bytes);
  u.column = keys.group_cols == 0 ? h * u.head_dim : 0;
}

// Provisional rows that row r sees from the first one on, without a gap.
int RunOf(const Visibility& visible, int r) {
  int run = visible.run[r];
  for (int i = visible.begin[r]; i < visible.begin[r + 1] && visible.chain[i] == run; ++i) ++run;
  return run;
}

}  // namespace

void CpuBackend::RunUnits(std::vector<AttentionUnit>& units, const AttentionOp& op) {
  int64_t most = 0;
  for (const AttentionUnit& u : units) most = std::max(most, op.scratch(u));
  const auto bytes = static_cast<size_t>(most);
  for (PageMemory& scratch : attention_scratch_) {
    if (scratch && scratch.get_deleter().bytes >= bytes) continue;
    scratch = AllocatePages(bytes + bytes / 2);  // contexts grow: not a new one each step
    if (scratch == nullptr) {
      Succeeds(OutOfMemory(bytes + bytes / 2));
      return;
    }
  }
  const auto run = [&](int64_t begin, int64_t end, int thread) {
    for (int64_t i = begin; i < end; ++i) {
      AttentionUnit u = units[static_cast<size_t>(i)];
      u.scratch = attention_scratch_[static_cast<size_t>(thread)].get();
      op.run(u);
    }
  };
  const auto count = static_cast<int64_t>(units.size());
  if (count == 1) return run(0, 1, 0);
  shares_.Split(pool_->active(), count, 1, 1);
  pool_->RunShared([&](int thread) {
    shares_.Each(thread, [&](int64_t begin, int64_t end) { run(begin, end, thread); });
  });
}

void CpuBackend::Attention(const AttentionArgs& args) {
  const Profile::Scope scope(profile_, "attention");
  const Visibility& visible = *args.visible;
  const int rows = visible.rows(), head_dim = args.head_dim;
  FT_CHECK(rows == args.q.rows && rows == args.out.rows && args.q.cols == args.out.cols);
  FT_CHECK(args.q.type == DType::kF32 && args.out.type == DType::kF32);
  FT_CHECK(args.q.cols % head_dim == 0 && args.keys.cols % head_dim == 0);
  if (rows == 0) return;
  const auto heads = static_cast<int>(args.q.cols / head_dim);
  const auto kv_heads = static_cast<int>(args.keys.cols / head_dim);
  FT_CHECK(heads % kv_heads == 0);
  const int group = heads / kv_heads, threads = pool_->active();
  const int blocks = (rows + kMostRows - 1) / kMostRows, most = std::min(kMostRows, rows);
  const int64_t units = int64_t{blocks} * kv_heads;
  // Units left over are the last ones, mostly of the last rows.
  const int last = units % threads > kv_heads ? most : rows - (blocks - 1) * kMostRows;
  const UnitDivision division =
      DivideUnits(units, most * group, last * group, kernels_.few_queries, threads);

  AttentionUnit unit = UnitOf(args.keys, args.values, head_dim, args.scale);
  unit.prefetches_near = config_.prefetches_near;
  unit.committed = visible.committed;
  attention_rows_.resize(static_cast<size_t>(heads) * rows);  // all units' row lists
  attention_units_.clear();
  AttentionRow* next_row = attention_rows_.data();
  const auto add_row = [&](int r, int head) {
    const int count = visible.count(r), run = RunOf(visible, r);
    const int64_t at = static_cast<int64_t>(head) * head_dim;
    *next_row++ = {
        .q = reinterpret_cast<const float*>(args.q.data + r * args.q.row_bytes) + at,
        .out = reinterpret_cast<float*>(args.out.data + r * args.out.row_bytes) + at,
        .begin = args.window > 0 ? std::max(0, count - args.window) : 0,
        .count = count,
        .run = visible.committed + run,
        .chain = visible.chain.data() + visible.begin[r + 1] - (count - visible.committed - run)};
  };
  // Adds piece p of `pieces` of a unit: of several, each query is a row of its own.
  const auto add_unit = [&](int64_t index, int p, int pieces) {
    const int first = static_cast<int>(index / kv_heads) * kMostRows;
    const int h = static_cast<int>(index % kv_heads), count = std::min(kMostRows, rows - first);
    ChooseHead(args.keys, args.values, h, unit);
    unit.rows = next_row;
    if (pieces == 1) {
      unit.heads = group;
      for (int r = 0; r < count; ++r) add_row(first + r, h * group);
    } else {
      unit.heads = 1;
      const int begin = count * group * p / pieces, end = count * group * (p + 1) / pieces;
      for (int i = begin; i < end; ++i) add_row(first + i / group, h * group + i % group);
    }
    unit.row_count = static_cast<int>(next_row - unit.rows);
    if (unit.row_count > 0) attention_units_.push_back(unit);
  };
  // About in the order in which threads get them (RunUnits); threads help each other.
  int64_t next_whole = 0, next_piece = 0;
  const int64_t whole = division.whole * threads, pieces = (units - whole) * division.pieces;
  for (int t = 0; t < threads; ++t) {
    for (int64_t i = 0; i < division.whole; ++i) add_unit(next_whole++, 0, 1);
    for (int64_t i = 0; i < division.pieces_each && next_piece < pieces; ++i, ++next_piece) {
      add_unit(whole + next_piece / division.pieces, static_cast<int>(next_piece % division.pieces),
               division.pieces);
    }
  }
  RunUnits(attention_units_, kernels_.attention);
}

void CpuBackend::AttentionRows(Tensor q, std::span<const int> kv_head, Tensor keys, int count,
                               float scale, Tensor out) {
  const Profile::Scope scope(profile_, "attention");
  FT_CHECK(q.rows == static_cast<int64_t>(kv_head.size()) && out.rows == q.rows && count > 0);
  FT_CHECK(out.cols == count && count <= keys.rows);
  AttentionUnit unit = UnitOf(keys, keys, static_cast<int>(q.cols), scale);
  unit.committed = count;
  unit.row_count = unit.heads = 1;
  attention_rows_.resize(kv_head.size());
  attention_units_.clear();
  for (size_t i = 0; i < kv_head.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    attention_rows_[i] = {.q = reinterpret_cast<const float*>(q.data + row * q.row_bytes),
                          .out = reinterpret_cast<float*>(out.data + row * out.row_bytes),
                          .begin = 0,
                          .count = count,
                          .run = count,
                          .chain = nullptr};
    unit.rows = &attention_rows_[i];
    ChooseHead(keys, keys, kv_head[i], unit);
    attention_units_.push_back(unit);
  }
  RunUnits(attention_units_, kernels_.attention_weights);
}

}  // namespace foretoken
