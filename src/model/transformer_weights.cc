#include <string>

#include "model/transformer.h"

namespace foretoken {
namespace {

// Fetches weights by name, remembering the first error so that a layer reads as a list.
class Loader {
 public:
  Loader(const ModelConfig& config, WeightSource& source) : config_(config), source_(source) {}

  const Status& status() const { return status_; }

  std::unique_ptr<Weight> Matrix(const std::string& name, int64_t rows, int64_t cols) {
    if (!status_.ok()) return nullptr;
    auto weight = source_.Matrix(name, rows, cols);
    if (weight.ok()) return *std::move(weight);
    status_ = weight.error();
    return nullptr;
  }

  Buffer Vector(const std::string& name, int64_t n) {
    if (!status_.ok()) return {};
    auto buffer = source_.Vector(name, n);
    if (buffer.ok()) return *std::move(buffer);
    status_ = buffer.error();
    return {};
  }

  LayerWeights Layer(int index) {
    const std::string prefix = "blk." + std::to_string(index) + ".";
    const int64_t hidden = config_.hidden;
    const int64_t q_cols = int64_t{config_.heads} * config_.head_dim;
    const int64_t kv_cols = int64_t{config_.kv_heads} * config_.head_dim;
    LayerWeights w;
    w.attention_norm = Vector(prefix + "attn_norm.weight", hidden);
    w.q = Matrix(prefix + "attn_q.weight", q_cols, hidden);
    w.k = Matrix(prefix + "attn_k.weight", kv_cols, hidden);
    w.v = Matrix(prefix + "attn_v.weight", kv_cols, hidden);
    w.o = Matrix(prefix + "attn_output.weight", hidden, q_cols);
    if (config_.attention_bias) {
      w.q_bias = Vector(prefix + "attn_q.bias", q_cols);
      w.k_bias = Vector(prefix + "attn_k.bias", kv_cols);
      w.v_bias = Vector(prefix + "attn_v.bias", kv_cols);
    }
    if (config_.qk_norm) {
      w.q_norm = Vector(prefix + "attn_q_norm.weight", config_.head_dim);
      w.k_norm = Vector(prefix + "attn_k_norm.weight", config_.head_dim);
    }
    w.ffn_norm = Vector(prefix + "ffn_norm.weight", hidden);
    w.gate = Matrix(prefix + "ffn_gate.weight", config_.ffn, hidden);
    w.up = Matrix(prefix + "ffn_up.weight", config_.ffn, hidden);
    w.down = Matrix(prefix + "ffn_down.weight", hidden, config_.ffn);
    return w;
  }

 private:
  const ModelConfig& config_;
  WeightSource& source_;
  Status status_;
};

}  // namespace

Result<TransformerWeights> LoadTransformerWeights(const ModelConfig& config,
                                                  std::unique_ptr<WeightSource> source) {
  Loader loader(config, *source);
  TransformerWeights weights;
  // The largest first: while a matrix loads, its file pages and its copy are both in memory.
  weights.embedding = loader.Matrix("token_embd.weight", config.vocab, config.hidden);
  if (!config.tied_embeddings) {
    weights.head = loader.Matrix("output.weight", config.vocab, config.hidden);
  }
  for (int layer = 0; layer < config.layers && loader.status().ok(); ++layer) {
    weights.layers.push_back(loader.Layer(layer));
  }
  weights.final_norm = loader.Vector("output_norm.weight", config.hidden);
  FT_RETURN_IF_ERROR(loader.status());
  weights.source = std::move(source);
  return weights;
}

}  // namespace foretoken
