// The CPU backend. Ops that run on several threads are split by outputs, rows or heads, never by
// the inputs of one sum. A result therefore depends neither on the number of threads nor on other
// rows.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/attention/unit_division.h"
#include "backend/cpu/cpu_options.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/linear/unit_chooser.h"
#include "backend/cpu/linear/weight_prefetch.h"
#include "backend/cpu/page_arena.h"
#include "backend/cpu/rows/tiles.h"
#include "base/thread_pool.h"
#include "base/work_shares.h"

namespace foretoken {

// Names of parts of a profile, each of which times several ops.
inline constexpr char kNorms[] = "norms", kActivations[] = "activations",
                      kRounding[] = "rounding activations", kCacheRows[] = "cache rows";

// Row `row` of a tensor of floats.
inline float* FloatRow(const Tensor& t, int64_t row) {
  FT_CHECK(t.type == DType::kF32 && 0 <= row && row < t.rows);
  return reinterpret_cast<float*>(t.data + row * t.row_bytes);
}

class CpuBackend : public Backend {
 public:
  // `threads`: as in CpuOptions. `kernels` must outlive the backend. Errors: those of CheckConfig;
  // the system refuses to start that many threads.
  static Result<std::unique_ptr<CpuBackend>> Create(const Kernels& kernels,
                                                    const KernelConfig& config, int threads);

  std::string Name() const override;
  int threads() const override { return pool_->threads(); }
  double CrossoverRows() const override { return kernels_.crossover_rows; }
  void Watch(Profile* profile) override;

  Result<Buffer> Allocate(DType type, int64_t rows, int64_t cols) override;
  Status TakeFailure() override;
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
  CpuBackend(const Kernels& kernels, const KernelConfig& config,
             std::unique_ptr<WeightPrefetch> prefetch, std::unique_ptr<ThreadPool> pool);

  // Sines and cosines of the last call's positions, kept because every layer of a pass rotates by
  // the same angles.
  struct Angles {
    RopeTable table;
    std::vector<Pos> positions;
    std::vector<float> cos, sin;  // [positions, rope_dim / 2]
  };
  void UpdateAngles(std::span<const Pos> positions, const RopeTable& table);
  // Ops on fewer elements than this run on one thread: handing over work would take longer.
  static constexpr int64_t kWorthSharing = 16384;
  // Calls work(row) for every row, on several threads where rows * cols >= kWorthSharing.
  template <typename Work>
  void EachRow(int64_t rows, int64_t cols, const Work& work) {
    const int64_t grain = rows * cols < kWorthSharing ? rows : 1;
    pool_->ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) work(r);
    });
  }
  // Fills attention_units_ with the units of `args`, roughly in the order in which threads take
  // them.
  void MakeUnits(const AttentionArgs& args);
  // Runs `op` on every unit. A unit uses the scratch of the thread that runs it.
  void RunUnits(std::vector<AttentionUnit>& units, const AttentionOp& op);

  // Remembers the first error for TakeFailure. Returns status.ok().
  bool RecordStatus(const Status& status);
  // Makes the tiles of `in` that the weights of `group` are multiplied with, or only reserves
  // memory for them if each thread makes its own copy (InputTiles). Returns false if out of memory.
  bool MakeTiles(const LinearIn& in, std::span<const LinearOut> group);
  // Chooses the unit that computes the products of `group` with `tiles`. The caller destroys the
  // result when the products are done; they may be timed until then. `gated`: as in ProductShape.
  UnitChooser::Call BeginProducts(const Tiles& tiles, std::span<const LinearOut> group, bool gated);
  // Multiplies `tiles` with the weights of `group`. REQUIRES: the tiles were made or reserved for
  // these weights.
  void Multiply(Tiles& tiles, std::span<const LinearOut> group);
  // Calls body(begin, end, thread) for ranges that together cover all panels of `group`, numbered
  // consecutively across its weights. Each thread first prepares `tiles`. `usual`: as in
  // WorkShares::Split.
  template <typename Body>
  void EachPanel(Tiles& tiles, std::span<const LinearOut> group, int64_t usual, const Body& body);
  // Tells prefetch_ which weights each thread reads first in the products of `group`.
  void Announce(std::span<const LinearOut> group);

  const Kernels& kernels_;
  const KernelConfig config_;
  Profile* profile_ = nullptr;
  std::unique_ptr<WeightPrefetch> prefetch_;  // used by pool_, so destroyed after it
  std::unique_ptr<ThreadPool> pool_;
  PageArena arena_;
  WorkShares shares_;
  UnitChooser unit_chooser_;
  InputTiles tiles_;
  Tiles inner_tiles_;                     // of a feed-forward block
  std::vector<PanelRange> panel_ranges_;  // [threads]
  Angles angles_;
  // The last division of units with different loads, and the number of threads that it is for. The
  // division is kept because the units of a pass are the same in every layer.
  std::vector<UnitLoad> unit_loads_, next_loads_;
  std::vector<UnitPiece> unit_pieces_;
  int divided_among_ = 0;
  std::vector<AttentionRow> attention_rows_;
  std::vector<AttentionUnit> attention_units_;
  std::vector<PageMemory> attention_scratch_;  // [threads]
  Status failure_;                             // of the first op that failed
};

}  // namespace foretoken
