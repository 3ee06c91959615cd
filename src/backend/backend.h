// The interface of compute backends, which own memory and compute on it: the CPU today, other
// devices later.
//
// Models and drafters are written once, against this interface. Ops run in order and may be
// asynchronous; only Download, ArgMax and TopK wait. An op that cannot allocate its scratch memory
// is skipped, and TakeFailure returns the error. Shapes are written [rows, cols]; activations are
// f32. The law every implementation keeps: a row of a result depends on that row's inputs alone,
// bit for bit, not on the other rows of the call, on the tree around it or on the number of
// threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/paged_rows.h"
#include "backend/tensor.h"
#include "base/profile.h"
#include "base/result.h"
#include "base/types.h"

namespace foretoken {

// A matrix [rows = outputs, cols = inputs] in the layout its backend computes with.
class Weight {
 public:
  virtual ~Weight() = default;
  virtual DType type() const = 0;  // the number format in the model file
  virtual int64_t rows() const = 0;
  virtual int64_t cols() const = 0;
  virtual size_t bytes() const = 0;  // read by one product
};

// The input rows of products: x, or the RMS norm of x. Such a norm is never stored as a tensor.
struct LinearIn {
  LinearIn(Tensor rows) : x(rows) {}  // NOLINT(google-explicit-constructor): most have no norm
  LinearIn(Tensor rows, Tensor norm_gain, float norm_eps)
      : x(rows), gain(norm_gain), eps(norm_eps) {}

  Tensor x;     // [rows, n] f32
  Tensor gain;  // [1, n] f32; if empty, x is used as it is
  float eps = 0;
};

// One product of a group whose products share their input: out (+)= x . weight^T + bias.
struct LinearOut {
  const Weight* weight = nullptr;  // [n, x.cols]
  Tensor out;                      // [x.rows, n] f32
  Tensor bias;                     // [1, n] f32, or empty
  bool accumulate = false;         // add to what `out` holds
};

// A gated feed-forward block: out += down . (silu(gate . x) * (up . x)), with the bits of separate
// Linear, SiluMul and Linear ops.
struct FeedForwardArgs {
  LinearIn x;                    // [rows, n]; x.x may be `out`
  const Weight *gate, *up;       // [inner, n]
  const Weight* down = nullptr;  // [out.cols, inner]
  Tensor out;                    // [rows, out.cols] f32
};

// What the provisional rows of one sequence may attend to: every committed row, their own ancestors
// and themselves. Row r (of `rows` consecutive query rows) attends to provisional rows [0, run[r])
// and then to chain[begin[r] .. begin[r+1]), which are ascending and >= run[r]; the last of all
// these is the row itself. The i-th row that row r attends to, counted from zero with committed
// rows first, is at absolute position i.
struct Visibility {
  int committed = 0;
  std::vector<int> run;    // [rows]
  std::vector<int> begin;  // [rows + 1]
  std::vector<int> chain;
  int rows() const { return static_cast<int>(run.size()); }
  // The number of positions that row r attends to, its own included.
  int count(int r) const { return committed + run[r] + begin[r + 1] - begin[r]; }
};

// The query rows of one sequence: rows [first, first + visible->rows()) of a call.
struct AttentionSequence {
  // kv_heads * head_dim columns, undivided or in one group per head; committed rows first.
  PagedRows keys, values;
  const Visibility* visible = nullptr;
  int first = 0;
};

struct AttentionArgs {
  Tensor q;    // [rows, heads * head_dim] f32, rotated
  Tensor out;  // [rows, heads * head_dim] f32
  std::span<const AttentionSequence> sequences;
  int head_dim = 0;
  float scale = 0;  // multiplies q . k
  int window = 0;   // a query attends to at most this many positions, its own included; 0: all
};

// Rows of a tensor to be stored in a cache: [from, from + count) become [to, to + count) of `rows`.
struct RowRun {
  PagedRows rows;
  int64_t to = 0;
  int64_t from = 0;
  int64_t count = 0;
};

// Constants of the rotary embedding, made once per model: the angle of pair i at position p is p *
// inv_freq[i].
struct RopeTable {
  std::vector<float> inv_freq;  // [rope_dim / 2], scaling applied
  float magnitude = 1.0f;       // multiplies sin and cos (YaRN)
  bool interleaved = false;     // pairs (2i, 2i+1) instead of (i, i + rope_dim / 2)
};

// Thread-safety: one caller at a time for ops; Weights may be shared.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string Name() const = 0;  // "cpu/avx512", ...
  virtual int threads() const = 0;
  // The number of rows at which a pass that reads one byte per weight takes twice as long as
  // reading the weights alone, if reading and arithmetic do not overlap. Serves as the first
  // estimate of what passes cost.
  virtual double CrossoverRows() const = 0;
  // Records the time of ops in `profile` (of threads() threads) until the next call of Watch; null
  // records nothing.
  virtual void Watch(Profile* profile) = 0;

  // Memory. `type` may be any activation or cache type; contents start as zeros. Errors: out of
  // memory, with the requested size.
  virtual Result<Buffer> Allocate(DType type, int64_t rows, int64_t cols) = 0;
  // Returns the error of the first op that found no memory since the last call of TakeFailure, or
  // OK. The outputs of that op and of all later ones are undefined.
  virtual Status TakeFailure() = 0;
  // Copies packed f32 or i32 rows from `host` to dst before it returns.
  virtual void Upload(const void* host, Tensor dst) = 0;
  // Downloads a tensor of any type as packed f32 rows; waits.
  virtual void Download(Tensor src, float* host) = 0;
  // Downloads rows [first, first + count) of a cache, of any type, as packed f32 rows; waits.
  virtual void Download(const PagedRows& src, int64_t first, int64_t count, float* host) = 0;

  // Loads a matrix of a model file (`data`: rows * RowBytes(type, cols) bytes). If `keeps_source`
  // is true in the result, `data` must outlive the weight. Errors: out of memory; a shape or type
  // that this backend cannot compute with.
  struct LoadedWeight {
    std::unique_ptr<Weight> weight;
    bool keeps_source = false;
    bool finite = true;  // AllFinite of `data`
  };
  virtual Result<LoadedWeight> LoadWeight(DType type, int64_t rows, int64_t cols,
                                          const std::byte* data) = 0;

  // Ops.

  // Writes the rows of `table` for `tokens` to `out` [tokens, table.cols()] f32.
  virtual void Embed(const Weight& table, std::span<const Token> tokens, Tensor out) = 0;
  // Normalises every n consecutive elements of x [rows, k * n] by their RMS, and multiplies them by
  // gain [1, n]. x may be `out`.
  virtual void RmsNorm(Tensor x, Tensor gain, float eps, Tensor out) = 0;
  // Computes the products of `group` from the input `in`.
  virtual void Linear(const LinearIn& in, std::span<const LinearOut> group) = 0;
  virtual void FeedForward(const FeedForwardArgs& args) = 0;
  // Rotates the first 2 * table.inv_freq.size() elements of each head of `x` [positions, heads *
  // head_dim] f32.
  virtual void Rope(Tensor x, std::span<const Pos> positions, int head_dim,
                    const RopeTable& table) = 0;
  virtual void SiluMul(Tensor gate, Tensor up) = 0;    // gate = silu(gate) * up, of one shape
  virtual void Add(Tensor x, Tensor y) = 0;            // y += x, of one shape
  virtual void StoreRows(Tensor src, Tensor dst) = 0;  // dst = src, converted to dst's type
  // Stores rows of src into caches, for several sequences at once. REQUIRES: src is as wide as
  // every cache.
  virtual void StoreRows(Tensor src, std::span<const RowRun> runs) = 0;
  // Gathers rows: out[i] = src[rows[i]], all of f32. `out` may be the first rows of `src` where
  // `rows` strictly increases, and must not overlap it otherwise.
  virtual void Gather(Tensor src, std::span<const int> rows, Tensor out) = 0;
  // Copies rows [first, first + count) of src to the same rows of dst. REQUIRES: both caches have
  // one type and width and are divided into the same groups.
  virtual void CopyRows(const PagedRows& src, const PagedRows& dst, int64_t first,
                        int64_t count) = 0;
  // Moves row from[i] to row to + i, for ascending i. REQUIRES: `from` strictly increases; from[i]
  // >= to + i.
  virtual void CompactRows(const PagedRows& rows, std::span<const int> from, int64_t to) = 0;
  // Attention of all sequences of a layer. Rows of `out` that belong to no sequence are left
  // unchanged.
  virtual void Attention(const AttentionArgs& args) = 0;
  // Attention probabilities of single heads over the first `count` cached positions: row i of `out`
  // [n, count] is softmax(scale * q[i] . k) over the keys k of head kv_head[i]. q is [n, head_dim].
  // Used by PLD+.
  virtual void AttentionRows(Tensor q, std::span<const int> kv_head, const PagedRows& keys,
                             int count, float scale, Tensor out) = 0;
  // Writes to `out` [rows] the token with the highest logit of each row of `logits` [rows, vocab],
  // the lowest id among equals. NaN never wins. A row without a logit above -infinity gives token
  // 0. Waits.
  virtual void ArgMax(Tensor logits, std::span<Token> out) = 0;
  // Writes to `out` [rows][count] the tokens with the top `count` logits of each row of `logits`
  // [rows, vocab], highest first, the lowest id first among equals, with their log-probabilities
  // under the row's softmax. A row with fewer logits above -infinity is padded with kNoToken. A row
  // with values that no working network produces (NaN, +infinity, finite magnitudes above a
  // million) gets only kNoToken. Waits.
  virtual void TopK(Tensor logits, int count, std::span<RankedToken> out) = 0;
};

struct BackendOptions {
  int threads = 0;  // on the host; 0 = one per core that this process may use
};
// Makes a backend by its name: "cpu", or "cpu:avx2", ... for one of its instruction sets. Errors:
// an unknown name (the message lists the known ones); a device or an instruction set that this
// machine lacks; the system refuses to start that many threads.
Result<std::unique_ptr<Backend>> NewBackend(std::string_view name,
                                            const BackendOptions& options = {});
// Every name that NewBackend accepts on this machine.
std::vector<std::string> BackendNames();

}  // namespace foretoken
