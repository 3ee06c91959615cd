// Chimera's network (C-18, C-19): one decoder layer over n-gram states interleaved with the
// target's features, and heads. A head reads the last feature concatenated with the layer's output
// for an n-gram state.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "draft/chimera/ngram_encoder.h"
#include "draft/draft_head.h"
#include "draft/feature_drafter.h"
#include "io/draft_file.h"
#include "model/decoder_layers.h"

namespace foretoken {

struct NgramCacheRule {
  int entries = 65536;  // states kept in memory
  std::string spill;    // path of a new file for evicted states; "": they are dropped
};

// A pair (the target's feature i, token i + 1) takes two cache rows: the feature at position i, and
// the state of the n-gram that ends in the token at position i + 1. Every row attends to all rows
// before it. The output of the state at position p predicts token p + 1.
class ChimeraNet final : public FeatureNet {
 public:
  // The net owns `file`; `target` must outlive the net. Error messages name the file, and the key
  // or tensor if one is at fault.
  static Result<std::unique_ptr<ChimeraNet>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                                  const NgramCacheRule& cache,
                                                  const DraftTokenRule& rule = {});

  Backend& backend() const override { return target_.backend(); }
  const ModelConfig& config() const { return layer_.config(); }
  int hidden() const override { return config().hidden; }
  // For each column of the logits, the target's token that it scores.
  DraftVocabulary vocabulary() const { return output_.vocabulary(); }
  DraftPrior Prior() const;
  int heads() const { return file_->info().output_heads; }
  NgramEncoder& ngrams() { return ngrams_; }
  // Pairs per pass; the last row of each sequence's last pair is fed in a second pass.
  int max_rows() const override { return (layer_.max_rows() + 1) / kRowsOfPair; }
  int cache_rows() const override { return kRowsOfPair; }
  std::unique_ptr<KvCache> NewCache(int tokens, DType type) const override {
    return layer_.NewCache(kRowsOfPair * tokens, type);
  }

  // The tensor [rows, hidden] into which the caller writes the rows of the next pass, features and
  // states.
  Result<Tensor> Features(int rows) override;
  // Runs a pass; batch.token is ignored.
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) override;
  // Runs a pass that only adds the keys and values of its rows to the caches.
  Status Remember(const RowBatch& batch, std::span<KvCache* const> caches);

  // The tensor [rows, 2 * hidden] into which the caller writes a head's input: the target's last
  // feature, then an output of Forward.
  Result<Tensor> HeadInput(int rows);
  // Logits [rows, tokens scored] of head `head` for the first `rows` rows of HeadInput's tensor;
  // valid until the next call.
  Result<Tensor> Logits(int head, int rows);

 private:
  static constexpr int kRowsOfPair = 2;

  struct Weights {
    std::unique_ptr<WeightSource> source;  // outlives the rest
    std::unique_ptr<Weight> embedding;     // null: the target's
    NgramWeights ngram;
    std::vector<LayerWeights> layer;
    std::vector<std::unique_ptr<Weight>> projections;  // see projections_
  };
  ChimeraNet(std::unique_ptr<DraftFile> file, const ModelConfig& layer, Weights weights,
             DraftHead output, Model& target, NgramCache cache);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layer, n-gram encoder and projections have been moved from
  Model& target_;
  NgramEncoder ngrams_;
  DecoderLayers layer_;
  std::vector<std::unique_ptr<Weight>> projections_;  // [hidden, 2 * hidden] for each head, or none
  DraftHead output_;  // a matrix [vocab, 2 * hidden] for each head, or the target's for all
  Buffer input_, head_input_, state_;
};

}  // namespace foretoken
