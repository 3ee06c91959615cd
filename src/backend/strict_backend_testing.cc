#include "backend/strict_backend_testing.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "backend/strict_op_testing.h"
#include "base/check.h"

namespace foretoken {
namespace {

std::atomic<int> next_backend_number = 0;  // numbers are unique among the backends of a process

class StrictWeight final : public Weight {
 public:
  StrictWeight(std::unique_ptr<Weight> inner, int owner)
      : inner_(std::move(inner)), owner_(owner) {}
  DType type() const override { return inner_->type(); }
  int64_t rows() const override { return inner_->rows(); }
  int64_t cols() const override { return inner_->cols(); }
  size_t bytes() const override { return inner_->bytes(); }
  const Weight* inner() const { return inner_.get(); }
  int owner() const { return owner_; }

 private:
  const std::unique_ptr<Weight> inner_;
  const int owner_;
};

bool SameShape(const Tensor& a, const Tensor& b) { return a.rows == b.rows && a.cols == b.cols; }
bool IsFloat(const Tensor& t) { return t.type == DType::kF32; }
bool IsRowOf(const Tensor& t, int64_t cols) { return IsFloat(t) && t.rows == 1 && t.cols == cols; }

class StrictBackend final : public Backend {
 public:
  explicit StrictBackend(std::unique_ptr<Backend> inner) : inner_(std::move(inner)) {}

  std::string Name() const override { return "strict:" + inner_->Name(); }
  int threads() const override { return inner_->threads(); }
  double CrossoverRows() const override { return inner_->CrossoverRows(); }
  void Watch(Profile* profile) override { inner_->Watch(profile); }
  Status TakeFailure() override { return inner_->TakeFailure(); }

  Result<Buffer> Allocate(DType type, int64_t rows, int64_t cols) override {
    return MoveToStrictMemory(inner_->Allocate(type, rows, cols));
  }
  void Upload(const void* host, Tensor dst) override;
  void Download(Tensor src, float* host) override;
  void Download(const PagedRows& src, int64_t first, int64_t count, float* host) override;
  Result<LoadedWeight> LoadWeight(DType type, int64_t rows, int64_t cols,
                                  const std::byte* data) override;

  void Embed(const Weight& table, std::span<const Token> tokens, Tensor out) override;
  void RmsNorm(Tensor x, Tensor gain, float eps, Tensor out) override;
  void Linear(const LinearIn& in, std::span<const LinearOut> group) override;
  void FeedForward(const FeedForwardArgs& args) override;
  void Rope(Tensor x, std::span<const Pos> positions, int head_dim,
            const RopeTable& table) override;
  void SiluMul(Tensor gate, Tensor up) override;
  void Add(Tensor x, Tensor y) override;
  void StoreRows(Tensor src, Tensor dst) override;
  void StoreRows(Tensor src, std::span<const RowRun> runs) override;
  void Gather(Tensor src, std::span<const int> rows, Tensor out) override;
  void CopyRows(const PagedRows& src, const PagedRows& dst, int64_t first, int64_t count) override;
  void CompactRows(const PagedRows& rows, std::span<const int> from, int64_t to) override;
  void Attention(const AttentionArgs& args) override;
  void AttentionRows(Tensor q, std::span<const int> kv_head, const PagedRows& keys, int count,
                     float scale, Tensor out) override;
  void ArgMax(Tensor logits, std::span<Token> out) override;
  void TopK(Tensor logits, int count, std::span<RankedToken> out) override;

 private:
  // Returns a buffer with the layout of `made`, in strict memory.
  Result<Buffer> MoveToStrictMemory(Result<Buffer> made) const;
  // The inner backend's weight.
  const Weight* Inner(const StrictOp& op, const Weight* weight) const;
  void RegisterInput(StrictOp& op, const LinearIn& in) const;
  void RegisterSequence(StrictOp& op, const AttentionArgs& args,
                        const AttentionSequence& sequence) const;

  const std::unique_ptr<Backend> inner_;
  const int number_ = next_backend_number.fetch_add(1);
};

Result<Buffer> StrictBackend::MoveToStrictMemory(Result<Buffer> made) const {
  if (!made.ok()) return made;
  Tensor t = made->tensor;
  const auto bytes = static_cast<size_t>(t.rows * t.row_bytes);
  const auto memory = StrictMemory::Get().Allocate(bytes, number_, t);
  if (memory == nullptr) return Error{"out of memory: the strict backend's addresses are used up"};
  t.data = memory.get();
  return Buffer{memory, t};
}

const Weight* StrictBackend::Inner(const StrictOp& op, const Weight* weight) const {
  op.Expect(weight != nullptr, "a weight is missing");
  const auto* ours = dynamic_cast<const StrictWeight*>(weight);
  op.Expect(ours != nullptr && ours->owner() == number_, "a weight belongs to another backend");
  return ours->inner();
}

void StrictBackend::Upload(const void* host, Tensor dst) {
  StrictOp op("Upload", number_);
  op.Expect(IsFloat(dst) || dst.type == DType::kI32, "dst is neither f32 nor i32");
  op.Writes("dst", dst);
  op.Begin();
  inner_->Upload(host, dst);
}

void StrictBackend::Download(Tensor src, float* host) {
  StrictOp op("Download", number_);
  op.Reads("src", src);
  op.Begin();
  inner_->Download(src, host);
}

void StrictBackend::Download(const PagedRows& src, int64_t first, int64_t count, float* host) {
  StrictOp op("Download", number_);
  op.Reads("src", src, first, count);
  op.Begin();
  inner_->Download(src, first, count, host);
}

Result<Backend::LoadedWeight> StrictBackend::LoadWeight(DType type, int64_t rows, int64_t cols,
                                                        const std::byte* data) {
  FT_ASSIGN_OR_RETURN(LoadedWeight loaded, inner_->LoadWeight(type, rows, cols, data));
  loaded.weight = std::make_unique<StrictWeight>(std::move(loaded.weight), number_);
  return loaded;
}

void StrictBackend::Embed(const Weight& table, std::span<const Token> tokens, Tensor out) {
  StrictOp op("Embed", number_);
  const Weight* inner = Inner(op, &table);
  op.Expect(
      IsFloat(out) && out.rows == static_cast<int64_t>(tokens.size()) && out.cols == table.cols(),
      "out is not [tokens, columns of the table] f32");
  for (const Token t : tokens) op.Expect(0 <= t && t < table.rows(), "a token has no row");
  op.Writes("out", out);
  op.Begin();
  inner_->Embed(*inner, tokens, out);
}

void StrictBackend::RmsNorm(Tensor x, Tensor gain, float eps, Tensor out) {
  StrictOp op("RmsNorm", number_);
  op.Expect(IsFloat(x) && IsFloat(out) && SameShape(x, out),
            "x and out are not f32 tensors of one shape");
  op.Expect(IsRowOf(gain, gain.cols) && x.cols % gain.cols == 0,
            "gain is not [1, n] f32, where n divides the columns of x");
  op.Reads("x", x);
  op.Reads("gain", gain);
  op.WritesInPlace("out", out, x);
  op.Begin();
  inner_->RmsNorm(x, gain, eps, out);
}

void StrictBackend::RegisterInput(StrictOp& op, const LinearIn& in) const {
  op.Expect(IsFloat(in.x), "x is not f32");
  op.Reads("x", in.x);
  if (in.gain.empty()) return;
  op.Expect(IsRowOf(in.gain, in.x.cols), "gain is not [1, columns of x] f32");
  op.Reads("gain", in.gain);
}

void StrictBackend::Linear(const LinearIn& in, std::span<const LinearOut> group) {
  StrictOp op("Linear", number_);
  op.Expect(!group.empty(), "the group is empty");
  RegisterInput(op, in);
  std::vector<LinearOut> inner(group.begin(), group.end());
  for (LinearOut& o : inner) {
    op.Expect(o.weight != nullptr && o.weight->cols() == in.x.cols, "a weight does not fit x");
    op.Expect(IsFloat(o.out) && o.out.rows == in.x.rows && o.out.cols == o.weight->rows(),
              "out is not [rows of x, rows of the weight] f32");
    op.Writes("out", o.out);
    if (!o.bias.empty()) {
      op.Expect(IsRowOf(o.bias, o.out.cols), "bias is not [1, columns of out] f32");
      op.Reads("bias", o.bias);
    }
    o.weight = Inner(op, o.weight);
  }
  op.Begin();
  inner_->Linear(in, inner);
}

void StrictBackend::FeedForward(const FeedForwardArgs& args) {
  StrictOp op("FeedForward", number_);
  RegisterInput(op, args.x);
  op.Expect(IsFloat(args.out) && args.out.rows == args.x.x.rows, "out is not [rows of x, ...] f32");
  op.WritesInPlace("out", args.out, args.x.x);
  FeedForwardArgs inner = args;
  inner.gate = Inner(op, args.gate);
  inner.up = Inner(op, args.up);
  inner.down = Inner(op, args.down);
  const int64_t width = inner.gate->rows();
  op.Expect(inner.gate->cols() == args.x.x.cols && inner.up->cols() == args.x.x.cols,
            "gate or up does not fit x");
  op.Expect(inner.up->rows() == width && inner.down->cols() == width,
            "gate, up and down do not fit each other");
  op.Expect(inner.down->rows() == args.out.cols, "down does not fit out");
  op.Begin();
  inner_->FeedForward(inner);
}

void StrictBackend::Rope(Tensor x, std::span<const Pos> positions, int head_dim,
                         const RopeTable& table) {
  StrictOp op("Rope", number_);
  op.Expect(IsFloat(x) && x.rows == static_cast<int64_t>(positions.size()),
            "x is not [positions, ...] f32");
  op.Expect(head_dim > 0 && x.cols % head_dim == 0, "x is not made of heads");
  op.Expect(2 * table.inv_freq.size() <= static_cast<size_t>(head_dim),
            "the table is longer than a head");
  op.Writes("x", x);
  op.Begin();
  inner_->Rope(x, positions, head_dim, table);
}

void StrictBackend::SiluMul(Tensor gate, Tensor up) {
  StrictOp op("SiluMul", number_);
  op.Expect(IsFloat(gate) && IsFloat(up) && SameShape(gate, up),
            "gate and up are not f32 tensors of one shape");
  op.Reads("up", up);
  op.Writes("gate", gate);
  op.Begin();
  inner_->SiluMul(gate, up);
}

void StrictBackend::Add(Tensor x, Tensor y) {
  StrictOp op("Add", number_);
  op.Expect(IsFloat(x) && IsFloat(y) && SameShape(x, y),
            "x and y are not f32 tensors of one shape");
  op.Reads("x", x);
  op.Writes("y", y);
  op.Begin();
  inner_->Add(x, y);
}

void StrictBackend::StoreRows(Tensor src, Tensor dst) {
  StrictOp op("StoreRows", number_);
  op.Expect(IsFloat(src) && SameShape(src, dst), "src is not f32 of dst's shape");
  op.Reads("src", src);
  op.Writes("dst", dst);
  op.Begin();
  inner_->StoreRows(src, dst);
}

void StrictBackend::StoreRows(Tensor src, std::span<const RowRun> runs) {
  StrictOp op("StoreRows", number_);
  op.Expect(IsFloat(src), "src is not f32");
  op.Reads("src", src);
  for (const RowRun& run : runs) {
    op.Expect(run.rows.cols == src.cols, "a cache is not as wide as src");
    op.Expect(run.from >= 0 && run.count >= 0 && run.from + run.count <= src.rows,
              "src has fewer rows than a run");
    op.Writes("a run", run.rows, run.to, run.count);
  }
  op.Begin();
  inner_->StoreRows(src, runs);
}

void StrictBackend::Gather(Tensor src, std::span<const int> rows, Tensor out) {
  StrictOp op("Gather", number_);
  op.Expect(IsFloat(src) && IsFloat(out) && out.cols == src.cols &&
                out.rows == static_cast<int64_t>(rows.size()),
            "out is not [rows, columns of src] f32");
  bool ascends = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    op.Expect(0 <= rows[i] && rows[i] < src.rows, "src has no such row");
    ascends = ascends && (i == 0 || rows[i] > rows[i - 1]);
  }
  op.Reads("src", src);
  if (ascends) {
    op.WritesInPlace("out", out, src);
  } else {
    op.Writes("out", out);
  }
  op.Begin();
  inner_->Gather(src, rows, out);
}

void StrictBackend::CopyRows(const PagedRows& src, const PagedRows& dst, int64_t first,
                             int64_t count) {
  StrictOp op("CopyRows", number_);
  op.Expect(src.type == dst.type && src.cols == dst.cols && src.group_cols == dst.group_cols,
            "src and dst differ in type or width");
  op.Reads("src", src, first, count);
  op.Writes("dst", dst, first, count);
  op.Begin();
  inner_->CopyRows(src, dst, first, count);
}

void StrictBackend::CompactRows(const PagedRows& rows, std::span<const int> from, int64_t to) {
  StrictOp op("CompactRows", number_);
  for (size_t i = 0; i < from.size(); ++i) {
    op.Expect(to >= 0 && from[i] >= to + static_cast<int64_t>(i) && from[i] < rows.rows() &&
                  (i == 0 || from[i] > from[i - 1]),
              "`from` does not ascend within the rows");
  }
  if (!from.empty()) op.Writes("rows", rows, to, from.back() + 1 - to);
  op.Begin();
  inner_->CompactRows(rows, from, to);
}

// Checks that the lengths of the lists match and that each row's chain ascends from the end of its
// run on.
void ExpectPaths(const StrictOp& op, const Visibility& v) {
  op.Expect(v.begin.size() == v.run.size() + 1 && v.begin.front() == 0 &&
                v.begin.back() == std::ssize(v.chain) && std::ranges::is_sorted(v.begin),
            "the lengths of the lists in `visible` do not match");
  for (int r = 0; r < v.rows(); ++r) {
    op.Expect(v.committed >= 0 && v.run[r] >= 0 && v.count(r) > 0, "a row attends to nothing");
    int next = v.run[r];
    for (int i = v.begin[r]; i < v.begin[r + 1]; ++i) {
      op.Expect(v.chain[i] >= next, "a row's chain does not ascend after its run");
      next = v.chain[i] + 1;
    }
  }
}

// Checks which cache rows the query rows of one sequence attend to, and registers the keys and
// values of these cache rows.
void StrictBackend::RegisterSequence(StrictOp& op, const AttentionArgs& args,
                                     const AttentionSequence& sequence) const {
  op.Expect(sequence.visible != nullptr, "`visible` is missing");
  const Visibility& v = *sequence.visible;
  if (v.rows() > 0) ExpectPaths(op, v);
  const int64_t cols = sequence.keys.cols;
  op.Expect(cols == sequence.values.cols && cols > 0 && cols % args.head_dim == 0 &&
                args.q.cols % cols == 0,
            "q, keys and values are not made of heads");
  op.Expect(sequence.first >= 0 && sequence.first + v.rows() <= args.q.rows,
            "a sequence has rows past the end of q");
  int64_t rows = 0;
  for (int r = 0; r < v.rows(); ++r) {
    const int last = v.begin[r + 1] > v.begin[r] ? v.chain[v.begin[r + 1] - 1] : v.run[r] - 1;
    rows = std::max<int64_t>(rows, v.committed + last + 1);
  }
  op.Reads("keys", sequence.keys, 0, rows);
  op.Reads("values", sequence.values, 0, rows);
}

void StrictBackend::Attention(const AttentionArgs& args) {
  StrictOp op("Attention", number_);
  op.Expect(IsFloat(args.q) && IsFloat(args.out) && SameShape(args.q, args.out),
            "q and out are not f32 tensors of one shape");
  op.Expect(args.head_dim > 0 && args.q.cols % args.head_dim == 0, "q is not made of heads");
  std::vector<bool> taken(static_cast<size_t>(args.q.rows));
  for (const AttentionSequence& s : args.sequences) {
    RegisterSequence(op, args, s);
    for (int row = s.first; row < s.first + s.visible->rows(); ++row) {
      op.Expect(!taken[static_cast<size_t>(row)], "a row belongs to two sequences");
      taken[static_cast<size_t>(row)] = true;
    }
  }
  op.Reads("q", args.q);
  op.Writes("out", args.out);
  op.Begin();
  inner_->Attention(args);
}

void StrictBackend::AttentionRows(Tensor q, std::span<const int> kv_head, const PagedRows& keys,
                                  int count, float scale, Tensor out) {
  StrictOp op("AttentionRows", number_);
  op.Expect(IsFloat(q) && q.rows == static_cast<int64_t>(kv_head.size()) && keys.cols % q.cols == 0,
            "q is not [heads, head_dim] f32");
  for (const int head : kv_head) {
    op.Expect(0 <= head && head < keys.cols / q.cols, "keys have no such head");
  }
  op.Expect(IsFloat(out) && out.rows == q.rows && out.cols == count, "out is not [n, count] f32");
  op.Reads("q", q);
  op.Reads("keys", keys, 0, count);
  op.Writes("out", out);
  op.Begin();
  inner_->AttentionRows(q, kv_head, keys, count, scale, out);
}

void StrictBackend::ArgMax(Tensor logits, std::span<Token> out) {
  StrictOp op("ArgMax", number_);
  op.Expect(IsFloat(logits) && logits.rows == static_cast<int64_t>(out.size()),
            "logits are not [tokens to fill in, ...] f32");
  op.Reads("logits", logits);
  op.Begin();
  inner_->ArgMax(logits, out);
}

void StrictBackend::TopK(Tensor logits, int count, std::span<RankedToken> out) {
  StrictOp op("TopK", number_);
  op.Expect(
      IsFloat(logits) && count >= 1 && logits.rows * count == static_cast<int64_t>(out.size()),
      "logits are not [tokens to fill in / count, ...] f32");
  op.Reads("logits", logits);
  op.Begin();
  inner_->TopK(logits, count, out);
}

}  // namespace

std::unique_ptr<Backend> NewStrictBackend(std::unique_ptr<Backend> inner) {
  return std::make_unique<StrictBackend>(std::move(inner));
}

Result<std::unique_ptr<Backend>> NewTestBackend(std::string_view name,
                                                const BackendOptions& options) {
  constexpr std::string_view kStrict = "strict:";
  if (!name.starts_with(kStrict)) return NewBackend(name, options);
  FT_ASSIGN_OR_RETURN(auto inner, NewBackend(name.substr(kStrict.size()), options));
  return NewStrictBackend(std::move(inner));
}

std::unique_ptr<Backend> NewTestedBackend(const BackendOptions& options) {
  const char* name = std::getenv("FT_TEST_BACKEND");
  auto backend = NewTestBackend(name == nullptr ? "cpu" : name, options);
  if (!backend.ok()) std::fprintf(stderr, "%s\n", backend.error().message.c_str());
  FT_CHECK(backend.ok());
  return *std::move(backend);
}

}  // namespace foretoken
