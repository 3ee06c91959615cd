// The network of GLIDE (G-15, G-16): a small language model. Between its self-attention and its
// feed-forward part, each layer attends to the cached keys and values of one layer of the target.
// Without cross-attention it is the paper's Vanilla Drafter.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/draft_head.h"
#include "draft/drafter.h"
#include "io/draft_file.h"
#include "io/draft_modules.h"
#include "model/decoder_layers.h"

namespace foretoken {

// The part of the target's KV cache that a pass may read for one sequence.
struct Glimpse {
  struct Layer {
    PagedRows keys, values;  // [capacity, kv_heads * head_dim] of the target
  };
  std::vector<Layer> layers;  // [layers of the draft]; empty without cross-attention
  int rows = 0;               // committed rows
};

class GlideNet {
 public:
  // `kv_layer`: the target layer (1-based) that the last draft layer reads; the draft layers before
  // it read the target layers just below. 0: the layers that the file names, or else the target's
  // top layers. The net owns `file`; `target` must outlive the net. Error messages name the file,
  // and the key or tensor if one is at fault.
  static Result<std::unique_ptr<GlideNet>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                                int kv_layer, const DraftTokenRule& rule = {});

  const ModelConfig& config() const { return layers_.config(); }
  int max_rows() const { return layers_.max_rows(); }
  Backend& backend() const { return target_.backend(); }
  // For each column of the logits, the target's token that it scores.
  DraftVocabulary vocabulary() const { return head_.vocabulary(); }
  DraftPrior Prior() const;
  // Target layers (0-based) that the draft's layers read; empty without cross-attention.
  const std::vector<int>& kv_layers() const { return kv_layers_; }
  // An empty cache for a sequence that rarely exceeds `tokens` tokens.
  std::unique_ptr<KvCache> NewCache(int tokens, DType type) const {
    return layers_.NewCache(tokens, type);
  }

  // Appends the rows to the caches as provisional rows. Returns the logits of batch.logit_rows [n,
  // tokens scored], valid until the next pass. A row at position p attends to the target's
  // committed rows below p; position 0 attends to row 0. So a drafted position sees the rows before
  // the root, as in training, where a block sees the rows before its first position (G-19).
  // `caches`, `glimpses`: [sequences of `batch`]. REQUIRES: 1 <= rows <= max_rows(); every glimpse
  // has a row, unless the draft has no cross-attention. Errors: out of memory.
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                         std::span<const Glimpse* const> glimpses);

 private:
  struct CrossWeights {
    std::unique_ptr<Weight> q;  // [heads * head_dim of the target, hidden]
    std::unique_ptr<Weight> o;  // [hidden, heads * head_dim of the target]
  };
  struct Weights {
    std::unique_ptr<WeightSource> source;            // outlives the rest
    std::vector<std::vector<std::byte>> rearranged;  // reordered rows of q that weights refer to
    std::unique_ptr<Weight> embedding;               // [vocab, hidden]
    Buffer norm;                                     // [1, hidden]
    std::vector<LayerWeights> layers;
    std::vector<CrossWeights> cross;
  };
  // Rows of the residual stream, one sequence after another.
  struct Rows {
    std::vector<Pos> position;
    std::vector<int> begin;  // [sequences + 1]
    int count() const { return static_cast<int>(position.size()); }
  };

  GlideNet(std::unique_ptr<DraftFile> file, Weights weights, std::vector<int> kv_layers,
           DraftHead head, Model& target);
  static size_t BodyBytes(const Weights& weights, size_t layer_bytes);
  static Result<std::unique_ptr<Weight>> LoadQuery(const DraftFile& file, const TensorSpec& query,
                                                   Model& target, Weights& weights);
  static Status LoadCross(const DraftFile& file, WeightLoader& loader, Model& target,
                          Weights& weights);
  static Rows RequestedRows(const RowBatch& batch);
  // Writes to `out` which of the target's `committed` rows each row of a sequence attends to.
  void FindVisibleRows(const Rows& rows, size_t sequence, int committed, Visibility& out) const;
  Status CrossAttend(int layer, const Rows& rows, std::span<const Glimpse* const> glimpses);
  Result<Tensor> Logits(int rows);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layers have been moved to layers_
  std::vector<int> kv_layers_;
  Model& target_;
  DecoderLayers layers_;
  RopeTable rope_;  // the target's
  DraftHead head_;

  // Scratch, grown to the largest pass so far.
  Buffer q_, attended_;              // [rows, heads * head_dim of the target]
  std::vector<Visibility> visible_;  // [sequences]
  std::vector<AttentionSequence> cross_sequences_;
};

}  // namespace foretoken
