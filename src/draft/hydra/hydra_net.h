// Hydra++ (B-9, B-10): a decoder layer over the target's features computes the state of the text.
// Head k (from 0) reads that state and the embeddings of the root and of the k guesses before its
// own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/draft_head.h"
#include "draft/feature_drafter.h"
#include "draft/residual_blocks.h"
#include "io/draft_file.h"

namespace foretoken {

// The output of row i is the state after token i. From that state and token i + 1, the heads
// predict the tokens from i + 2 on.
class HydraNet final : public FeatureNet {
 public:
  // The net owns `file`; `target` must outlive the net. Error messages name the file, and the key
  // or tensor if one is at fault.
  static Result<std::unique_ptr<HydraNet>> Load(std::unique_ptr<DraftFile> file, Model& target,
                                                const DraftTokenRule& rule = {});

  Backend& backend() const override { return target_.backend(); }
  const ModelConfig& config() const { return prefix_.config(); }
  int hidden() const override { return prefix_.config().hidden; }
  int max_rows() const override { return prefix_.max_rows(); }
  std::unique_ptr<KvCache> NewCache(int tokens, DType type) const override {
    return prefix_.NewCache(tokens, type);
  }
  Result<Tensor> Features(int rows) override;
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches) override;
  Result<Tensor> ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) override;

  int heads() const { return static_cast<int>(heads_.size()); }
  // For each column of the logits, the target's token that it scores.
  DraftVocabulary vocabulary() const { return output_.vocabulary(); }
  DraftPrior Prior() const;
  // The tensor [rows, (head + 2) * hidden] that holds the input of the next Logits. The caller
  // writes the state into the first `hidden` columns; Logits adds the embeddings. Errors, here and
  // below: out of memory.
  Result<Tensor> Input(int head, int rows);
  // Logits [rows, tokens scored] of head `head`, valid until the next call. `tokens`: [head +
  // 1][rows]; the roots come first, then the first guesses, and so on.
  Result<Tensor> Logits(int head, std::span<const std::vector<Token>> tokens);

 private:
  struct Head {
    std::unique_ptr<Weight> fc, skip;  // [hidden, (head + 2) * hidden]
    Buffer fc_bias, skip_bias;
    std::vector<ResidualBlock> blocks;
    size_t bytes() const { return fc->bytes() + skip->bytes() + BlockBytes(blocks); }
  };
  struct Weights {
    std::unique_ptr<WeightSource> source;  // outlives the rest
    std::unique_ptr<Weight> embedding;     // null: the target's
    std::vector<LayerWeights> prefix;
    Buffer norm;  // [1, hidden]
    std::vector<Head> heads;
  };
  HydraNet(std::unique_ptr<DraftFile> file, const ModelConfig& config, Weights weights,
           DraftHead output, Model& target);
  Result<Tensor> Normed(Tensor residual);
  static Head LoadHead(WeightLoader& loader, const DraftFile& file, const ModelConfig& target,
                       int index);
  static HeadSpec SpecOf(WeightLoader& loader, const DraftFile& file, const ModelConfig& target);

  std::unique_ptr<DraftFile> file_;
  Weights weights_;  // its layers and heads have been moved to prefix_ and heads_
  Model& target_;
  DecoderLayers prefix_;
  std::vector<Head> heads_;
  DraftHead output_;  // a matrix for each of heads_, or the target's for all
  ResidualBlocks blocks_;
  Buffer features_, outputs_;    // [rows, hidden]
  Buffer input_, state_, gate_;  // scratch of the running head
};

}  // namespace foretoken
