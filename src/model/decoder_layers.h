// A stack of decoder layers: attention and feed-forward, each added to the residual stream of rows
// that have positions and parents. The target is one; so is the inside of most trained drafts.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/weight_source.h"

namespace foretoken {

// Empty buffers are parts this model does not have.
struct LayerWeights {
  Buffer attention_norm, ffn_norm;     // [1, hidden]; without the former attention reads the
                                       // residual stream as it is (EAGLE)
  std::unique_ptr<Weight> q, k, v, o;  // q [heads * head_dim, hidden], or of a wider input
  Buffer q_bias, k_bias, v_bias;
  Buffer q_norm, k_norm;                   // [1, head_dim]
  std::unique_ptr<Weight> gate, up, down;  // gate, up [ffn, hidden]
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
  // The pages of all caches of `type`.
  PagePool& pages(DType type) const { return *PoolOf(type); }
  // An empty cache; `usual`: see KvCache.
  std::unique_ptr<KvCache> NewCache(int usual, DType type) const;

  // Begins a pass: appends the rows to their caches as provisional rows, sequence after sequence.
  // residual() is then to be filled. `batch` and `caches` must outlive the pass. REQUIRES:
  // 1 <= rows <= max_rows(). Errors: out of memory; some caches may have got their rows.
  Status Begin(const RowBatch& batch, std::span<KvCache* const> caches);
  Tensor residual() const { return residual_.tensor; }  // [capacity, hidden], the pass's rows first
  int row_capacity() const { return row_capacity_; }    // grows with the passes

  // The parts of a layer, in this order. Rotated queries go to `queries` [rows, heads * head_dim],
  // or nowhere where it is empty and nobody attends; keys and values to the caches. Attention and
  // feed-forward add to the residual stream; the latter may be left with its first `rows` rows.
  Tensor queries(int rows) const { return q_.tensor.Rows(0, rows); }  // overwritten by Project
  void Project(int layer, Tensor queries);
  void Attend(int layer, Tensor queries);
  void FeedForward(int layer, int rows);
  // All three, for every row.
  void Run(int layer);
  // The same where queries, keys and values are made of `x` [rows, as wide as their matrices]
  // instead of the residual stream (EAGLE-3).
  void Project(int layer, Tensor queries, const LinearIn& x);
  void Run(int layer, const LinearIn& x);
  // The last layer of a pass of which only the last row of each sequence is of use: keys and values
  // of all rows, the rest of those alone. Returns their residual stream [sequences, hidden]; the
  // pass is over, and x.x has lost its other rows. REQUIRES: every sequence has a row.
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
  LinearIn Normed(int layer) const;  // what attention reads of the residual stream
  void StoreKeysValues(int layer);
  void Rotate(int layer, Tensor queries, std::span<const Pos> positions);
  // Attends with the queries of `attends_` and adds what comes out to the first `rows` rows.
  void AttendTo(int layer, Tensor q, int rows);

  ModelConfig config_;
  std::vector<LayerWeights> layers_;
  Backend& backend_;
  int max_rows_;
  RopeTable rope_;

  mutable std::map<DType, std::shared_ptr<PagePool>> pools_;

  // The pass, laid out once for all layers.
  const RowBatch* batch_ = nullptr;
  std::vector<Part> parts_;  // those with rows come first, part_count_ of them
  size_t part_count_ = 0;
  std::vector<AttentionSequence> attends_;  // [part_count_], the layer's keys and values
  std::vector<RowRun> stores_;              // [part_count_], of keys or values
  std::vector<int> last_rows_;              // of RunForLast: [part_count_], and their positions
  std::vector<Pos> last_positions_;

  // Scratch, grown to the largest pass so far: [row_capacity_, ...].
  int row_capacity_ = 0;
  Buffer residual_, q_, k_, v_, attended_;
};

// Fetches weights by name, remembering the first error so that a reader is a list.
class WeightLoader {
 public:
  explicit WeightLoader(WeightSource& source) : source_(source) {}

  const Status& status() const { return status_; }
  std::unique_ptr<Weight> Matrix(const std::string& name, int64_t rows, int64_t cols);
  Buffer Vector(const std::string& name, int64_t n);
  // "blk.INDEX.*"; without its attention norm where the layer has none. `attention_input`: the
  // width of what queries, keys and values are made of; 0: config.hidden.
  LayerWeights Layer(const ModelConfig& config, int index, bool attention_norm = true,
                     int64_t attention_input = 0);

 private:
  WeightSource& source_;
  Status status_;
};

}  // namespace foretoken
