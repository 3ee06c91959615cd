// The network of EDD (E-17): decoder layers over a soft prompt and the drafted tokens after it. The
// soft prompt is one of the target's hidden states for each committed token, at that token's
// position. Without hidden states, the network reads the tokens themselves: the vanilla draft model
// (VDM) that EDD is compared with.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "draft/draft_head.h"
#include "draft/feature_drafter.h"
#include "io/draft_file.h"
#include "model/decoder_layers.h"

namespace foretoken {

class EddNet final : public FeatureNet {
 public:
  // The net owns `file`; `target` must outlive the net. Error messages name the file, and the key
  // or tensor if one is at fault.
  static Result<std::unique_ptr<EddNet>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                              const DraftTokenRule& rule = {});

  const ModelConfig& config() const { return layers_.config(); }
  // Hugging Face index of the hidden state that makes up the soft prompt; nullopt for a VDM.
  std::optional<int> tap() const { return tap_; }
  std::vector<int> taps() const { return tap_ ? std::vector<int>{*tap_} : std::vector<int>{}; }
  int hidden() const override { return layers_.config().hidden; }
  // For each column of the logits, the target's token that it scores.
  DraftVocabulary vocabulary() const { return head_.vocabulary(); }
  DraftPrior Prior() const;
  int max_rows() const override { return layers_.max_rows(); }
  Backend& backend() const override { return target_.backend(); }
  std::unique_ptr<KvCache> NewCache(int tokens, DType type) const override {
    return layers_.NewCache(tokens, type);
  }

  Result<Tensor> Features(int rows) override;
  // Computes only keys and values of committed rows; returns an empty tensor.
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) override;
  // Appends the tokens whose continuations are to be guessed; returns their logits [rows, tokens
  // scored], valid until the next call. Errors: out of memory.
  Result<Tensor> Logits(const RowBatch& batch, std::span<KvCache* const> caches);

 private:
  struct Weights {
    std::unique_ptr<WeightSource> source;  // outlives the rest
    std::unique_ptr<Weight> embedding;     // [vocab, hidden]; null: the target's
    Buffer norm;                           // [1, hidden]
    float norm_eps = 0;                    // of `norm`
    std::vector<LayerWeights> layers;
  };
  EddNet(std::unique_ptr<DraftFile> file, const ModelConfig& config, Weights weights,
         DraftHead head, Model& target);
  void Embed(const RowBatch& batch);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layers have been moved to layers_
  Model& target_;
  std::optional<int> tap_;
  DecoderLayers layers_;
  DraftHead head_;
  Buffer features_;  // [rows, hidden]
};

}  // namespace foretoken
