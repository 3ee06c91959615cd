// A stack of decoder layers: attention and feed-forward blocks, each added to the residual stream
// of rows that have positions and parents. The target model is such a stack, and most trained
// drafts contain one.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/weight_source.h"

namespace foretoken {

// The weights of one layer. An empty buffer stands for a part that this model lacks.
struct LayerWeights {
  Buffer attention_norm, ffn_norm;     // [1, hidden]; without attention_norm, attention reads the
                                       // residual stream itself (EAGLE)
  std::unique_ptr<Weight> q, k, v, o;  // q [heads * head_dim, input width],
                                       // k and v [kv_heads * head_dim, input width],
                                       // o [hidden, heads * head_dim]
  Buffer q_bias, k_bias, v_bias;
  Buffer q_norm, k_norm;                   // [1, head_dim]
  std::unique_ptr<Weight> gate, up, down;  // gate, up [ffn, hidden], down [hidden, ffn]
};

// Bytes of the matrices that a pass of one row reads.
size_t WeightBytes(std::span<const LayerWeights> layers);

class DecoderLayers {
 public:
  // REQUIRES: layers.size() == config.layers; CheckConfig(config); max_rows > 0.
  DecoderLayers(const ModelConfig& config, std::vector<LayerWeights> layers, Backend& backend,
                int max_rows);

  const ModelConfig& config() const { return config_; }
  int max_rows() const { return max_rows_; }
  size_t weight_bytes() const { return WeightBytes(layers_); }
  const RopeTable& rope() const { return rope_; }
  // The pool that all caches of `type` take their pages from.
  PagePool& pages(DType type) const { return *PoolOf(type); }
  // A new empty cache. `usual`: see KvCache.
  std::unique_ptr<KvCache> NewCache(int usual, DType type) const;

  // Begins a pass: appends the rows to their caches as provisional rows, sequence after sequence.
  // The caller then fills residual(). `batch` and `caches` must outlive the pass. REQUIRES: 1 <=
  // rows <= max_rows(). Errors: out of memory; some caches may already have their rows.
  Status Begin(const RowBatch& batch, std::span<KvCache* const> caches);
  Tensor residual() const { return residual_.tensor; }  // [capacity, hidden], the pass's rows first
  int row_capacity() const { return row_capacity_; }    // grows with the passes

  // The parts of a layer, to be called in this order. Project stores keys and values in the caches,
  // and rotated queries in `queries` [rows, heads * head_dim]; where that is empty, no queries are
  // computed. Attend and FeedForward add to the residual stream. FeedForward may be limited to the
  // first `rows` rows.
  Tensor queries(int rows) const { return q_.tensor.Rows(0, rows); }  // overwritten by Project
  void Project(int layer, Tensor queries);
  void Attend(int layer, Tensor queries);
  void FeedForward(int layer, int rows);
  // Project, Attend and FeedForward for every row.
  void Run(int layer);
  // Variants that compute queries, keys and values from `x` [rows, input width of q, k and v]
  // instead of the residual stream (EAGLE-3).
  void Project(int layer, Tensor queries, const LinearIn& x);
  void Run(int layer, const LinearIn& x);
  // Runs the last layer of a pass that needs the outputs of each sequence's last row only: computes
  // keys and values of all rows, and everything else for those last rows. Returns their residual
  // stream [sequences, hidden]. Ends the pass. Overwrites the first rows of x.x with the last rows
  // of the sequences. REQUIRES: every sequence has a row.
  Tensor RunForLast(int layer);
  Tensor RunForLast(int layer, const LinearIn& x);

 private:
  // A sequence that has rows in the pass.
  struct Part {
    const KvCache* cache;
    Visibility visible;
  };

  const std::shared_ptr<PagePool>& PoolOf(DType type) const;
  Status ReserveRows(int rows);
  LinearIn Normed(int layer) const;  // the input of attention, from the residual stream
  void StoreKeysValues(int layer);
  void Rotate(int layer, Tensor queries, std::span<const Pos> positions);
  // Attends with queries `q` for the rows of attends_, and adds the output to the first `rows`
  // rows.
  void AttendTo(int layer, Tensor q, int rows);

  ModelConfig config_;
  std::vector<LayerWeights> layers_;
  Backend& backend_;
  int max_rows_;
  RopeTable rope_;

  mutable std::map<DType, std::shared_ptr<PagePool>> pools_;

  // The pass, laid out once for all layers.
  const RowBatch* batch_ = nullptr;
  std::vector<Part> parts_;  // the first part_count_ are those of this pass
  size_t part_count_ = 0;
  std::vector<AttentionSequence> attends_;  // [part_count_], the layer's keys and values
  std::vector<RowRun> stores_;              // [part_count_], of keys or values
  std::vector<int> last_rows_;              // of RunForLast: [part_count_], with their positions
  std::vector<Pos> last_positions_;

  // Scratch, grown to the largest pass so far: [row_capacity_, ...].
  int row_capacity_ = 0;
  Buffer residual_, q_, k_, v_, attended_;
};

// Fetches weights by name and keeps the first error, so that callers can fetch many and check once.
class WeightLoader {
 public:
  explicit WeightLoader(WeightSource& source) : source_(source) {}

  const Status& status() const { return status_; }
  std::unique_ptr<Weight> Matrix(const std::string& name, int64_t rows, int64_t cols);
  Buffer Vector(const std::string& name, int64_t n);
  // Layer "blk.INDEX.*". `attention_norm`: whether the layer has a norm before attention.
  // `attention_input`: the width of the input of queries, keys and values; 0: config.hidden.
  LayerWeights Layer(const ModelConfig& config, int index, bool attention_norm = true,
                     int64_t attention_input = 0);

 private:
  WeightSource& source_;
  Status status_;
};

}  // namespace foretoken
