#include "llama.h"

#include <cmath>

#include "model/model_config.h"
#include "ops_plain.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr int64_t kQueryBlock = 128;  // most positions in a query block of attention

Tensor Sum(const Stream& stream) {
  return stream.delta.defined() ? stream.h + stream.delta.to(torch::kFloat32) : stream.h;
}

void AddAttentionParts(WeightSet& weights, const std::string& prefix, const LlamaShape& s,
                       const AttentionParts& parts, Block& block) {
  const int64_t q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  if (parts.bias) {
    block.qkv_bias = torch::cat({weights.Add(prefix + "q_proj.bias", {q}, 0.0),
                                 weights.Add(prefix + "k_proj.bias", {kv}, 0.0),
                                 weights.Add(prefix + "v_proj.bias", {kv}, 0.0)});
  }
  if (parts.qk_norm) {
    block.q_norm = weights.Add(prefix + "q_norm.weight", {s.head_dim}, 0.0);
    block.k_norm = weights.Add(prefix + "k_norm.weight", {s.head_dim}, 0.0);
  }
}

// Returns the first position that each query attends to, [batch, length] int32.
Tensor FirstVisibleKey(const Batch& batch, int64_t window) {
  if (window == 0) return batch.first_key;
  const Tensor pos = torch::arange(batch.length, batch.first_key.options());
  return torch::maximum(batch.first_key, pos - (window - 1));
}

// Returns the largest query block, at most kQueryBlock, that divides `length`.
int64_t QueryBlockFor(int64_t length) {
  int64_t block = std::min(length, kQueryBlock);
  while (length % block != 0) --block;
  return block;
}

}  // namespace

LlamaShape ShapeOf(const ModelConfig& c) {
  LlamaShape s;
  s.vocab = c.vocab;
  s.layers = c.layers;
  s.hidden = c.hidden;
  s.ffn = c.ffn;
  s.heads = c.heads;
  s.kv_heads = c.kv_heads;
  s.head_dim = c.head_dim;
  s.rope_dim = c.rope_dim;
  s.window = c.sliding_window;
  s.context = c.context;
  s.norm_eps = c.norm_eps;
  s.rope_base = c.rope_base;
  s.tied_embeddings = c.tied_embeddings;
  if (c.rope_scaling != ModelConfig::RopeScaling::kNone || !c.rope_freq_factors.empty()) {
    const foretoken::RopeTable table = MakeRopeTable(c);
    s.rope_frequencies = table.inv_freq;
    s.rope_magnitude = table.magnitude;
  }
  return s;
}

Block AddBlock(WeightSet& weights, const std::string& prefix, const LlamaShape& s,
               bool has_input_norm, double into_residual) {
  const int64_t q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  Block block;
  if (has_input_norm)
    block.input_norm = weights.Add(prefix + "input_layernorm.weight", {s.hidden}, 0.0);
  block.qkv = &weights.AddMatrix({{prefix + "self_attn.q_proj.weight", q},
                                  {prefix + "self_attn.k_proj.weight", kv},
                                  {prefix + "self_attn.v_proj.weight", kv}},
                                 s.hidden, kInitialDeviation);
  block.out =
      &weights.AddMatrix({{prefix + "self_attn.o_proj.weight", s.hidden}}, q, into_residual);
  block.post_norm = weights.Add(prefix + "post_attention_layernorm.weight", {s.hidden}, 0.0);
  block.gate_up = &weights.AddMatrix(
      {{prefix + "mlp.gate_proj.weight", s.ffn}, {prefix + "mlp.up_proj.weight", s.ffn}}, s.hidden,
      kInitialDeviation);
  block.down =
      &weights.AddMatrix({{prefix + "mlp.down_proj.weight", s.hidden}}, s.ffn, into_residual);
  return block;
}

Stream FeedForward(const Block& block, const Stream& in, double eps, torch::ScalarType compute) {
  const NormResult b = AddRmsNorm(in.h, in.delta, block.post_norm, eps, compute);
  const Tensor gate_up = Linear(b.normed, *block.gate_up);
  return {b.residual, Linear(SwiGlu(gate_up), *block.down)};
}

AttentionShape AttentionShapeOf(const LlamaShape& s, int64_t batch, int64_t length) {
  return {batch, length, s.heads, s.kv_heads, s.head_dim, QueryBlockFor(length), s.rope_dim};
}

RopeTables::RopeTables(const LlamaShape& s, torch::Device device)
    : RopeTables(s.rotary(), s.rope_base, device) {
  if (s.rope_frequencies.empty()) return;
  frequencies_ = torch::tensor(s.rope_frequencies, torch::kFloat64);
  magnitude_ = s.rope_magnitude;
}

const Tensor& RopeTables::For(int64_t length) {
  Tensor& table = tables_[length];
  if (table.defined()) return table;
  table = frequencies_.defined() ? RopeTable(length, frequencies_, magnitude_)
                                 : RopeTable(length, rope_dim_, base_);
  table = table.to(device_);
  return table;
}

Llama::Llama(const LlamaShape& shape, WeightOptions options, AttentionParts parts)
    : shape_(shape), weights_(std::move(options)), ropes_(shape, weights_.device()) {
  TORCH_CHECK(shape.heads % shape.kv_heads == 0, "heads must be a multiple of kv_heads");
  const double layers = static_cast<double>(shape.layers);
  embed_ =
      weights_.Add("model.embed_tokens.weight", {shape.vocab, shape.hidden}, kInitialDeviation);
  for (int64_t i = 0; i < shape.layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    blocks_.push_back(
        AddBlock(weights_, prefix, shape, true, kInitialDeviation / std::sqrt(2.0 * layers)));
    AddAttentionParts(weights_, prefix + "self_attn.", shape, parts, blocks_.back());
  }
  norm_ = weights_.Add("model.norm.weight", {shape.hidden}, 0.0);
  head_ = shape.tied_embeddings ? &weights_.AddShared(embed_)
                                : &weights_.AddMatrix({{"lm_head.weight", shape.vocab}},
                                                      shape.hidden, kInitialDeviation);
}

Tensor Llama::Qkv(const Block& block, const Tensor& rows) const {
  const Tensor product = Linear(rows, *block.qkv);
  if (!block.qkv_bias.defined() && !block.q_norm.defined()) return product;
  Tensor qkv = product.to(torch::kFloat32);
  if (block.qkv_bias.defined()) qkv = qkv + block.qkv_bias;
  if (block.q_norm.defined()) {
    const int64_t q = shape_.heads * shape_.head_dim, kv = shape_.kv_heads * shape_.head_dim;
    const auto normed = [&](int64_t first, int64_t width, const Tensor& weight) {
      const Tensor heads = qkv.narrow(1, first, width).reshape({-1, shape_.head_dim});
      return PlainAddRmsNorm(heads, {}, weight, shape_.norm_eps, torch::kFloat32)
          .normed.view({-1, width});
    };
    qkv = torch::cat(
        {normed(0, q, block.q_norm), normed(q, kv, block.k_norm), qkv.narrow(1, q + kv, kv)}, 1);
  }
  return qkv.to(product.scalar_type()).contiguous();
}

Stream Llama::Finish(const Block& block, const Tensor& residual, const Tensor& qkv,
                     const Batch& batch) {
  const AttentionShape attention = AttentionShapeOf(shape_, batch.batch, batch.length);
  const Tensor mixed =
      Attention(qkv, attention, ropes_.For(batch.length), FirstVisibleKey(batch, shape_.window));
  return FeedForward(block, {residual, Linear(mixed, *block.out)}, shape_.norm_eps,
                     weights_.compute());
}

Tensor Llama::Features(const Batch& batch, HiddenState* tap) {
  const torch::ScalarType compute = weights_.compute();
  Stream stream{Embed(embed_, batch.ids), {}};
  int64_t index = 0;
  for (const Block& block : blocks_) {
    if (tap != nullptr && tap->index == index++) tap->value = Sum(stream);
    const NormResult a =
        AddRmsNorm(stream.h, stream.delta, block.input_norm, shape_.norm_eps, compute);
    stream = Finish(block, a.residual, Qkv(block, a.normed), batch);
  }
  const Tensor features =
      AddRmsNorm(stream.h, stream.delta, norm_, shape_.norm_eps, compute).normed;
  if (tap != nullptr && tap->index == index) tap->value = features.to(torch::kFloat32);
  return features;
}

std::vector<Tensor> Llama::KeysValues(const Batch& batch, std::span<const int> layers) {
  const int64_t q = shape_.heads * shape_.head_dim, kv = shape_.kv_heads * shape_.head_dim;
  std::vector<Tensor> found;
  Stream stream{Embed(embed_, batch.ids), {}};
  for (int64_t i = 0; found.size() < layers.size(); ++i) {
    const Block& block = blocks_[i];
    const NormResult a =
        AddRmsNorm(stream.h, stream.delta, block.input_norm, shape_.norm_eps, weights_.compute());
    const Tensor qkv = Qkv(block, a.normed);
    if (layers[found.size()] == i) found.push_back(qkv.narrow(1, q, 2 * kv));
    if (found.size() < layers.size()) stream = Finish(block, a.residual, qkv, batch);
  }
  return found;
}

Tensor Llama::Loss(const Batch& batch, double scale) {
  return LmLoss(Features(batch), *head_, batch.targets, batch.weights, scale, kLossChunk);
}

double AttentionFlops(const LlamaShape& shape, int64_t rows, int64_t length) {
  const AttentionShape s = AttentionShapeOf(shape, 1, length);
  int64_t scores = 0;  // per sequence, over all heads
  for (int64_t i = 0; i < s.blocks(); ++i) scores += s.heads * s.block * (i + 1) * s.block;
  const double sequences = static_cast<double>(rows) / static_cast<double>(length);
  return 4.0 * static_cast<double>(scores * s.head_dim) * sequences;
}

double BlockFlops(const LlamaShape& shape, int64_t rows, int64_t length) {
  const AttentionShape s = AttentionShapeOf(shape, 1, length);
  const int64_t weights = shape.hidden * (s.width() + s.heads * s.head_dim + 3 * shape.ffn);
  return 2.0 * static_cast<double>(weights * rows) + AttentionFlops(shape, rows, length);
}

double Llama::ForwardFlops(int64_t rows, int64_t length) const {
  return static_cast<double>(shape_.layers) * BlockFlops(shape_, rows, length);
}

double Llama::KeysValuesFlops(int64_t rows, int64_t length, std::span<const int> layers) const {
  const int64_t width = AttentionShapeOf(shape_, 1, length).width();
  return static_cast<double>(layers.back()) * BlockFlops(shape_, rows, length) +
         2.0 * static_cast<double>(rows * shape_.hidden * width);
}

double Llama::HeadFlops(int64_t rows) const {
  return 2.0 * static_cast<double>(rows * shape_.vocab * shape_.hidden);
}

}  // namespace foretoken::train
