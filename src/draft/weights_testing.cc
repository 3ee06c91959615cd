#include "draft/weights_testing.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/rng.h"

namespace foretoken {

std::vector<float> MatrixValues(WeightSource& source, Backend& backend, const std::string& name,
                                int64_t rows, int64_t cols) {
  const std::unique_ptr<Weight> weight = *source.Matrix(name, rows, cols);
  const Buffer buffer = *backend.Allocate(DType::kF32, rows, cols);
  std::vector<Token> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  backend.Embed(*weight, all, buffer.tensor);
  std::vector<float> values(static_cast<size_t>(rows * cols));
  backend.Download(buffer.tensor, values.data());
  return values;
}

std::vector<float> VectorValues(WeightSource& source, Backend& backend, const std::string& name,
                                int64_t n) {
  std::vector<float> values(static_cast<size_t>(n));
  backend.Download(source.Vector(name, n)->tensor, values.data());
  return values;
}

std::vector<Token> CommonFollowers(const std::vector<std::vector<Token>>& texts, int vocab) {
  std::vector<std::vector<int>> counts(static_cast<size_t>(vocab),
                                       std::vector<int>(static_cast<size_t>(vocab)));
  for (const std::vector<Token>& text : texts) {
    for (size_t i = 0; i + 1 < text.size(); ++i) ++counts[text[i]][text[i + 1]];
  }
  std::vector<Token> followers;
  followers.reserve(counts.size());
  for (const std::vector<int>& row : counts) {
    followers.push_back(static_cast<Token>(std::ranges::max_element(row) - row.begin()));
  }
  return followers;
}

std::vector<float> FollowerMatrix(const TestTarget& target) {
  const ModelConfig& c = target.config;
  const auto hidden = static_cast<size_t>(c.hidden);
  const std::vector<float> embedding =
      MatrixValues(target.weights, target.backend, "token_embd.weight", c.vocab, c.hidden);
  const std::vector<float> head =
      MatrixValues(target.weights, target.backend, "output.weight", c.vocab, c.hidden);
  const std::vector<Token> followers = CommonFollowers(target.texts(), c.vocab);
  std::vector<float> matrix(hidden * hidden, 0.0f);
  for (size_t token = 0; token < followers.size(); ++token) {
    const float* from = embedding.data() + token * hidden;
    const float* to = head.data() + static_cast<size_t>(followers[token]) * hidden;
    const float norm = std::inner_product(from, from + hidden, from, 0.0f);
    for (size_t r = 0; r < hidden; ++r) {
      for (size_t i = 0; i < hidden; ++i) matrix[r * hidden + i] += to[r] * from[i] / norm;
    }
  }
  return matrix;
}

void DraftBuilder::Add(const std::string& name, std::vector<int64_t> shape,
                       std::vector<float> values) {
  items_.push_back({name, std::move(shape), std::move(values)});
}

void DraftBuilder::AddRandom(const std::string& name, std::vector<int64_t> shape, float spread,
                             float mean) {
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  const uint64_t key = Mix(seed_ ^ items_.size());
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    const double radius = std::sqrt(-2 * std::log(Uniform(key, 0, i)));
    const double angle = 2 * std::numbers::pi * Uniform(key, 1, i);
    values[i] = mean + spread * static_cast<float>(radius * std::cos(angle));
  }
  Add(name, std::move(shape), std::move(values));
}

void DraftBuilder::AddLayer(const ModelConfig& config, int index, float strength,
                            bool attention_norm, int64_t attention_input) {
  const std::string block = "blk." + std::to_string(index) + ".";
  const int64_t hidden = config.hidden, ffn = config.ffn;
  const int64_t input = attention_input > 0 ? attention_input : hidden;
  const int64_t q = int64_t{config.heads} * config.head_dim;
  const int64_t kv = int64_t{config.kv_heads} * config.head_dim;
  const auto matrix = [&](const char* name, int64_t rows, int64_t cols, float scale) {
    AddRandom(block + name, {rows, cols}, scale / std::sqrt(static_cast<float>(cols)));
  };
  if (attention_norm) AddRandom(block + "attn_norm.weight", {hidden}, 0.1f, 1);
  matrix("attn_q.weight", q, input, 1.5f);
  matrix("attn_k.weight", kv, input, 1.5f);
  matrix("attn_v.weight", kv, input, 1);
  matrix("attn_output.weight", hidden, q, strength);
  AddRandom(block + "ffn_norm.weight", {hidden}, 0.1f, 1);
  matrix("ffn_gate.weight", ffn, hidden, 1);
  matrix("ffn_up.weight", ffn, hidden, 1);
  matrix("ffn_down.weight", hidden, ffn, strength);
}

std::vector<float>& DraftBuilder::values(const std::string& name) {
  return std::ranges::find(items_, name, &Item::name)->values;
}

void DraftBuilder::Write(const DraftInfo& info, const std::string& path, FileType type) const {
  std::vector<DraftTensor> tensors;
  tensors.reserve(items_.size());
  for (const Item& item : items_) tensors.push_back({item.name, item.shape, item.values});
  const auto pool = *ThreadPool::Create(1);
  FT_CHECK(WriteDraft(info, tensors, type, *pool, path).ok());
}

DraftInfo InfoFor(const ModelConfig& target, const TokenizerData& tokenizer, std::string method,
                  int layers) {
  DraftInfo info;
  info.method = std::move(method);
  info.target = TargetFingerprint::Of(target, tokenizer);
  info.blocks = target;
  info.blocks.layers = layers;
  info.blocks.rope_interleaved = false;
  info.taps = {target.layers};
  info.shared = {std::string(kSharedEmbedding), std::string(kSharedHead)};
  return info;
}

}  // namespace foretoken
