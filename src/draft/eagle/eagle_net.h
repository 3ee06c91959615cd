// The module of EAGLE and HASS (methods.md 5.1): embedding and feature through a projection and a
// decoder layer, scored by the target's own LM head.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "io/draft_file.h"
#include "model/decoder_layers.h"

namespace foretoken {

// The pair at index i is the target's feature of token i and token i + 1; its output estimates the
// feature of token i + 1, whose logits guess token i + 2. Thread-safety: one thread.
class EagleNet {
 public:
  // Takes the weights out of `file`, which may close after Load if the backend copied them; it is
  // kept. `target` must outlive the net. Errors name file and tensor.
  static Result<std::unique_ptr<EagleNet>> Load(std::unique_ptr<DraftFile> file, Model& target);

  int hidden() const { return layers_.config().hidden; }
  int vocab() const { return static_cast<int>(target_.OutputHead().rows()); }
  int max_rows() const { return layers_.max_rows(); }
  Backend& backend() const { return target_.backend(); }
  std::unique_ptr<KvCache> NewCache(int capacity, DType type) const {
    return layers_.NewCache(capacity, type);
  }

  // Where the features of the next pass's rows are to be put: [rows, hidden].
  Tensor Features(int rows);
  // Appends the pairs (Features, batch.token) to the caches as provisional rows. Returns their
  // outputs [rows, hidden], valid until the next pass. REQUIRES: 1 <= rows <= max_rows().
  Tensor Forward(const RowBatch& batch, std::span<KvCache* const> caches);
  // The logits of `outputs` [rows, hidden]: [rows, vocab], valid until the next call.
  Tensor Logits(Tensor outputs);

 private:
  struct Weights {
    std::unique_ptr<WeightSource> source;  // outlives the rest
    std::unique_ptr<Weight> embedding;     // null: the target's
    std::unique_ptr<Weight> fc;            // [hidden, 2 * hidden]
    Buffer fc_bias;                        // [1, hidden], may be empty
    std::vector<LayerWeights> layers;
  };
  EagleNet(std::unique_ptr<DraftFile> file, Weights weights, Model& target);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layers have moved to layers_
  Model& target_;
  DecoderLayers layers_;
  Buffer input_;   // [rows, 2 * hidden]: embeddings, then features
  Buffer logits_;  // [rows, vocab]
};

}  // namespace foretoken
