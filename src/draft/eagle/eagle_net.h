// The module of EAGLE and HASS (H-16): a projection of embedding and feature, then decoder layers.
// An LM head, the target's or the draft's own, turns the layers' output into logits of all tokens
// or of some.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/draft_head.h"
#include "draft/eagle/eagle_module.h"
#include "io/draft_file.h"
#include "model/decoder_layers.h"

namespace foretoken {

class EagleNet final : public EagleModule {
 public:
  // The net owns `file`; `target` must outlive the net. Error messages name the file, and the key
  // or tensor if one is at fault.
  static Result<std::unique_ptr<EagleNet>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                                const DraftTokenRule& rule = {});

  int hidden() const override { return layers_.config().hidden; }
  DraftVocabulary vocabulary() const override { return head_.vocabulary(); }
  DraftPrior Prior() const override;
  int max_rows() const override { return layers_.max_rows(); }
  Backend& backend() const override { return target_.backend(); }
  std::unique_ptr<KvCache> NewCache(int tokens, DType type) const override {
    return layers_.NewCache(tokens, type);
  }

  Result<Tensor> Features(int rows) override;
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) override;
  Result<Tensor> ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) override;
  Result<Tensor> Logits(Tensor outputs) override;

 private:
  struct Weights {
    std::unique_ptr<WeightSource> source;  // outlives the rest
    std::unique_ptr<Weight> embedding;     // null: the target's
    std::unique_ptr<Weight> fc;            // [hidden, 2 * hidden]
    Buffer fc_bias;                        // [1, hidden], may be empty
    std::vector<LayerWeights> layers;
  };
  EagleNet(std::unique_ptr<DraftFile> file, Weights weights, DraftHead head, Model& target);
  Status BeginPass(const RowBatch& batch, std::span<KvCache* const> caches);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layers have been moved to layers_
  Model& target_;
  DecoderLayers layers_;
  DraftHead head_;
  Buffer input_;  // [rows, 2 * hidden]: embeddings, then features
};

}  // namespace foretoken
