// The module of EAGLE-3 (H-28, H-29): three hidden states of the target are fused into a feature. A
// decoder layer, whose attention reads the concatenated embedding and feature, predicts the next
// feature. The norm and the LM head are the draft's own; the head scores the draft's own
// vocabulary.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/draft_head.h"
#include "draft/eagle/eagle_module.h"
#include "io/draft_file.h"
#include "model/decoder_layers.h"

namespace foretoken {

class Eagle3Net final : public EagleModule {
 public:
  // The net owns `file`; `target` must outlive the net. Error messages name the file, and the key
  // or tensor if one is at fault. Among the errors are taps that the target does not have, and a
  // `d2t` that does not map the draft's tokens to distinct tokens of the target.
  static Result<std::unique_ptr<Eagle3Net>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                                 const DraftTokenRule& rule = {});

  // The hidden states that are fused into a feature: three Hugging Face indices, ascending.
  const std::vector<int>& taps() const { return taps_; }
  int hidden() const override { return layers_.config().hidden; }
  DraftVocabulary vocabulary() const override { return head_.vocabulary(); }
  DraftPrior Prior() const override;
  int max_rows() const override { return layers_.max_rows(); }
  Backend& backend() const override { return target_.backend(); }
  std::unique_ptr<KvCache> NewCache(int tokens, DType type) const override {
    return layers_.NewCache(tokens, type);
  }

  Status Fuse(std::span<const Tensor> taps, std::span<const Node> rows, Tensor to) override;
  Result<Tensor> Features(int rows) override;
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) override;
  Result<Tensor> ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) override;
  Result<Tensor> Logits(Tensor outputs) override;

 private:
  struct Weights {
    std::unique_ptr<WeightSource> source;  // outlives the rest
    std::unique_ptr<Weight> embedding;     // null: the target's
    std::unique_ptr<Weight> fc;            // [hidden, 3 * hidden]
    Buffer embedding_norm, feature_norm;   // [1, hidden] applied to the attention's inputs
    Buffer norm;                           // [1, hidden] before the LM head
    std::vector<LayerWeights> layers;      // exactly one
  };
  Eagle3Net(std::unique_ptr<DraftFile> file, Weights weights, std::vector<int> taps, DraftHead head,
            Model& target);
  Result<Tensor> BeginPass(const RowBatch& batch, std::span<KvCache* const> caches);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layers have been moved to layers_
  std::vector<int> taps_;
  DraftHead head_;
  Model& target_;
  DecoderLayers layers_;
  Buffer tapped_;    // [rows, 3 * hidden]
  Buffer features_;  // [rows, hidden]
  Buffer input_;     // [rows, 2 * hidden]: normed embeddings, then normed features
};

}  // namespace foretoken
