// The Llama-family transformer, written once against Backend: Llama, Vicuna, Mistral, Qwen2, Qwen3.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/decoder_layers.h"
#include "model/model.h"
#include "model/weight_source.h"

namespace foretoken {

struct TransformerWeights {
  std::unique_ptr<WeightSource> source;  // outlives the weights below
  std::unique_ptr<Weight> embedding;     // [vocab, hidden]
  std::unique_ptr<Weight> head;          // [tokens scored, hidden]; null: the embedding
  Buffer final_norm;                     // [1, hidden]
  std::vector<LayerWeights> layers;
};

// Loads all weights. REQUIRES: CheckConfig(config). Errors: a weight that cannot be loaded; a token
// of options.head_tokens that the vocabulary lacks.
Result<TransformerWeights> LoadTransformerWeights(const ModelConfig& config,
                                                  std::unique_ptr<WeightSource> source,
                                                  const ModelOptions& options);

class Transformer final : public Model {
 public:
  // REQUIRES: CheckConfig(config); options.max_rows > 0.
  Transformer(const ModelConfig& config, TransformerWeights weights, Backend& backend,
              const ModelOptions& options);

  const ModelConfig& config() const override { return config_; }
  const std::string& origin() const override { return weights_.source->origin(); }
  Backend& backend() const override { return backend_; }
  int max_rows() const override { return layers_.max_rows(); }
  size_t weight_bytes() const override { return weight_bytes_; }
  PagePool& pages(DType type) const override { return layers_.pages(type); }
  std::unique_ptr<KvCache> NewCache(int usual, DType type) const override {
    return layers_.NewCache(usual, type);
  }
  Result<Tensor> Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                         const TapSpec& spec, std::span<Taps> taps) override;
  const Weight& Embedding() const override { return *weights_.embedding; }
  const Weight& OutputHead() const override {
    return weights_.head != nullptr ? *weights_.head : *weights_.embedding;
  }
  Result<std::unique_ptr<Weight>> PickHeadRows(std::span<const Token> tokens,
                                               std::optional<DType> type) override;

 private:
  // The arguments of one pass; lives as long as the pass.
  struct Pass {
    const RowBatch& batch;
    std::span<KvCache* const> caches;
    const TapSpec& spec;
    int rows;
    bool tap_final;  // the final norm of every row is wanted
  };

  void Check(const Pass& pass, std::span<Taps> taps) const;
  Status ReserveTaps(const TapSpec& spec);
  Status ReserveLogits(int rows, bool head_input);
  static Tensor Tap(const std::vector<Buffer>& buffers, int index) {
    return buffers.at(static_cast<size_t>(index)).tensor;
  }
  void TapResidual(const Pass& pass, int index);
  int KeepLogitRows(const Pass& pass, int rows);
  int RunLayers(const Pass& pass);
  Tensor Logits(const Pass& pass, int rows);
  static std::pair<int, int> LogitsOf(const Pass& pass, int sequence);
  Tensor HeadInputOf(const Pass& pass, int sequence) const;
  void FillTaps(const Pass& pass, std::span<Taps> taps) const;
  void FillAnswers(const Pass& pass, Tensor logits, std::span<Taps> taps);

  ModelConfig config_;
  TransformerWeights weights_;  // without layers, which layers_ owns
  Backend& backend_;
  DecoderLayers layers_;
  size_t weight_bytes_;

  // Scratch, grown to the largest pass so far.
  int tap_capacity_ = 0;  // rows
  Buffer logits_;
  std::vector<Buffer> hidden_taps_;  // [layers + 1], made on first use
  std::vector<Buffer> query_taps_;   // [layers]
  Buffer head_input_;
  std::vector<Token> answers_;  // [rows of logits] of the last pass that requested them
};

}  // namespace foretoken
