// Attention on several threads. The work is divided into units: a few rows times the query heads
// that share a key/value head.
#include <algorithm>

#include "backend/cpu/attention/unit_division.h"
#include "backend/cpu/cpu_backend.h"
#include "base/division.h"

namespace foretoken {
namespace {

// Maximum number of rows in one unit, so that the queries and sums of a unit stay in a core's
// private cache.
constexpr int kMostRows = 16;

CacheType CacheTypeOf(DType type) {
  if (type == DType::kF32) return CacheType::kF32;
  if (type == DType::kF16) return CacheType::kF16;
  if (type == DType::kBF16) return CacheType::kBF16;
  FT_CHECK(type == DType::kQ8_0);
  return CacheType::kQ8_0;
}

// A unit whose rows and head are still to be set.
AttentionUnit UnitOf(const PagedRows& keys, const PagedRows& values, int head_dim, float scale) {
  FT_CHECK(keys.group_cols == values.group_cols && keys.cols == values.cols);
  FT_CHECK(keys.group_cols == keys.cols || keys.group_cols == head_dim);
  return {.key_pages = keys.pages.data(),
          .value_pages = values.pages.data(),
          .key_row_bytes = keys.row_bytes,
          .value_row_bytes = values.row_bytes,
          .key_type = CacheTypeOf(keys.type),
          .value_type = CacheTypeOf(values.type),
          .head_dim = head_dim,
          .scale = scale};
}

// Points a unit to key/value head h.
void ChooseHead(const PagedRows& keys, const PagedRows& values, int64_t h, AttentionUnit& u) {
  const bool grouped = keys.groups() > 1;
  u.key_offset = keys.offset + (grouped ? h * keys.group_bytes : 0);
  u.value_offset = values.offset + (grouped ? h * values.group_bytes : 0);
  u.column = grouped ? 0 : h * u.head_dim;
}

// The number of provisional rows that row r attends to before the first gap.
int RunOf(const Visibility& visible, int r) {
  int run = visible.run[r];
  for (int i = visible.begin[r]; i < visible.begin[r + 1] && visible.chain[i] == run; ++i) ++run;
  return run;
}

// The number of a sequence's cache rows up to the last one that a query row attends to.
int64_t RowsRead(const Visibility& visible) {
  int last = -1;  // index of a provisional row
  for (int r = 0; r < visible.rows(); ++r) {
    const int begin = visible.begin[r], end = visible.begin[r + 1];
    last = std::max(last, end > begin ? visible.chain[end - 1] : visible.run[r] - 1);
  }
  return int64_t{visible.committed} + last + 1;
}

// Makes the units of a call. Units are numbered by sequence, then by block of rows, then by
// key/value head.
class UnitMaker {
 public:
  UnitMaker(const AttentionArgs& args, bool prefetches_near, std::vector<AttentionRow>& rows,
            std::vector<AttentionUnit>& units)
      : args_(args), units_(units) {
    const int head_dim = args.head_dim;
    FT_CHECK(args.q.cols % head_dim == 0);
    const auto heads = static_cast<int>(args.q.cols / head_dim);
    units.clear();
    parts_.reserve(args.sequences.size());
    int64_t all_rows = 0;
    for (const AttentionSequence& s : args.sequences) {
      const int count = s.visible->rows();
      if (count == 0) continue;
      FT_CHECK(0 <= s.first && s.first + count <= args.q.rows);
      FT_CHECK(RowsRead(*s.visible) <= std::min(s.keys.rows(), s.values.rows()));
      const int64_t kv_heads = s.keys.cols / head_dim;
      FT_CHECK(s.keys.cols % head_dim == 0 && heads % kv_heads == 0);
      FT_CHECK(kv_heads_ == 0 || kv_heads == kv_heads_);
      kv_heads_ = kv_heads;
      AttentionUnit unit = UnitOf(s.keys, s.values, head_dim, args.scale);
      unit.prefetches_near = prefetches_near;
      unit.committed = s.visible->committed;
      const int64_t blocks = DivideUp(count, kMostRows);
      parts_.push_back({&s, unit, blocks_ * kv_heads, count});
      blocks_ += blocks;
      all_rows += count;
    }
    if (kv_heads_ > 0) group_ = static_cast<int>(heads / kv_heads_);
    rows.resize(static_cast<size_t>(heads * all_rows));  // at most one per query
    next_row_ = rows.data();
  }

  int64_t units() const { return blocks_ * kv_heads_; }
  bool is_single() const { return parts_.size() == 1; }

  // Divides the units of a single sequence among threads. They count as equal, except for units
  // left over.
  UnitDivision Divide(int few_queries, int threads) const {
    const int rows = parts_[0].rows, block_rows = std::min(kMostRows, rows);
    // Units left over are the last ones. If all of them belong to the last block of rows, they have
    // that block's number of rows.
    const int left_over_rows = units() % threads > kv_heads_
                                   ? block_rows
                                   : rows - (static_cast<int>(blocks_) - 1) * kMostRows;
    return DivideUnits(units(), block_rows * group_, left_over_rows * group_, few_queries, threads);
  }

  void Loads(std::vector<UnitLoad>& loads) const {
    loads.clear();
    for (const Part& part : parts_) {
      for (int first = 0; first < part.rows; first += kMostRows) {
        const int count = std::min(kMostRows, part.rows - first);
        const int positions = part.sequence->visible->count(first + count - 1);
        const UnitLoad load{count * group_,
                            args_.window > 0 ? std::min(positions, args_.window) : positions};
        loads.insert(loads.end(), static_cast<size_t>(kv_heads_), load);
      }
    }
  }

  // Adds piece `piece` of the `pieces` that unit `index` is cut into. If there are several pieces,
  // each query gets its own AttentionRow.
  void Add(int64_t index, int piece, int pieces) {
    const auto after = std::ranges::upper_bound(parts_, index, {}, &Part::first_unit);
    const Part& part = *(after - 1);
    const int64_t in_part = index - part.first_unit;
    const int first = static_cast<int>(in_part / kv_heads_) * kMostRows;
    const int h = static_cast<int>(in_part % kv_heads_);
    const int count = std::min(kMostRows, part.rows - first);
    AttentionUnit unit = part.unit;
    ChooseHead(part.sequence->keys, part.sequence->values, h, unit);
    unit.rows = next_row_;
    if (pieces == 1) {
      unit.heads = group_;
      for (int r = 0; r < count; ++r) AddRow(*part.sequence, first + r, h * group_);
    } else {
      unit.heads = 1;
      const int begin = count * group_ * piece / pieces,
                end = count * group_ * (piece + 1) / pieces;
      for (int i = begin; i < end; ++i) {
        AddRow(*part.sequence, first + i / group_, h * group_ + i % group_);
      }
    }
    unit.row_count = static_cast<int>(next_row_ - unit.rows);
    if (unit.row_count > 0) units_.push_back(unit);
  }

 private:
  // A sequence that has rows.
  struct Part {
    const AttentionSequence* sequence;
    AttentionUnit unit;  // what its units have in common
    int64_t first_unit;
    int rows;
  };

  void AddRow(const AttentionSequence& s, int r, int head) {
    const Visibility& visible = *s.visible;
    const int count = visible.count(r), run = RunOf(visible, r);
    const int64_t row = s.first + r, at = static_cast<int64_t>(head) * args_.head_dim;
    const Tensor &q = args_.q, &out = args_.out;
    *next_row_++ = {
        .q = reinterpret_cast<const float*>(q.data + row * q.row_bytes) + at,
        .out = reinterpret_cast<float*>(out.data + row * out.row_bytes) + at,
        .begin = args_.window > 0 ? std::max(0, count - args_.window) : 0,
        .count = count,
        .run = visible.committed + run,
        .chain = visible.chain.data() + visible.begin[r + 1] - (count - visible.committed - run)};
  }

  const AttentionArgs& args_;
  std::vector<AttentionUnit>& units_;
  AttentionRow* next_row_ = nullptr;
  std::vector<Part> parts_;
  int64_t kv_heads_ = 0, blocks_ = 0;  // blocks of rows of all sequences
  int group_ = 0;                      // query heads of a key/value head
};

}  // namespace

static_assert(kPageRows == kCachePageRows);

void CpuBackend::RunUnits(std::vector<AttentionUnit>& units, const AttentionOp& op) {
  int64_t largest = 0;
  for (const AttentionUnit& u : units) largest = std::max(largest, op.scratch(u));
  const auto bytes = static_cast<size_t>(largest);
  for (PageMemory& scratch : attention_scratch_) {
    if (scratch && scratch.get_deleter().bytes >= bytes) continue;
    scratch = AllocatePages(bytes + bytes / 2);  // spare bytes: contexts grow with each step
    if (scratch == nullptr) {
      RecordStatus(OutOfMemory(bytes + bytes / 2));
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
  FT_CHECK(args.q.rows == args.out.rows && args.q.cols == args.out.cols);
  FT_CHECK(args.q.type == DType::kF32 && args.out.type == DType::kF32);
  MakeUnits(args);
  if (!attention_units_.empty()) RunUnits(attention_units_, kernels_.attention);
}

void CpuBackend::MakeUnits(const AttentionArgs& args) {
  UnitMaker maker(args, config_.prefetches_near, attention_rows_, attention_units_);
  const int64_t units = maker.units();
  if (units == 0) return;
  const int threads = pool_->active();
  if (maker.is_single()) {
    const UnitDivision division = maker.Divide(kernels_.few_queries, threads);
    // Units are added in roughly the order in which threads take them (RunUnits). A thread that
    // finishes early takes over units of others.
    int64_t next_uncut = 0, next_piece = 0;
    const int64_t uncut_units = division.uncut * threads,
                  pieces = (units - uncut_units) * division.pieces;
    for (int t = 0; t < threads; ++t) {
      for (int64_t i = 0; i < division.uncut; ++i) maker.Add(next_uncut++, 0, 1);
      for (int64_t i = 0; i < division.pieces_per_thread && next_piece < pieces;
           ++i, ++next_piece) {
        maker.Add(uncut_units + next_piece / division.pieces,
                  static_cast<int>(next_piece % division.pieces), division.pieces);
      }
    }
    return;
  }
  maker.Loads(next_loads_);
  if (next_loads_ != unit_loads_ || divided_among_ != threads) {
    unit_loads_.swap(next_loads_);
    divided_among_ = threads;
    DivideUnequalUnits(unit_loads_, kernels_.few_queries, threads, unit_pieces_);
  }
  for (const UnitPiece& cut : unit_pieces_) maker.Add(cut.unit, cut.piece, cut.pieces);
}

void CpuBackend::AttentionRows(Tensor q, std::span<const int> kv_head, const PagedRows& keys,
                               int count, float scale, Tensor out) {
  const Profile::Scope scope(profile_, "attention");
  FT_CHECK(q.rows == static_cast<int64_t>(kv_head.size()) && out.rows == q.rows && count > 0);
  FT_CHECK(out.cols == count && count <= keys.rows());
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
