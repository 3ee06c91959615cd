#include "llama.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr int64_t kLossChunk = 1024;  // rows of logits held at once
constexpr int64_t kQueryBlock = 128;  // positions a block of attention

// Normal deviates addressed by (seed, stream, index): the same on any machine and thread count.
void FillNormal(uint64_t seed, uint64_t stream, double deviation, const Tensor& out) {
  float* data = out.data_ptr<float>();
  at::parallel_for(0, out.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double radius = std::sqrt(-2.0 * std::log(Uniform(seed, stream, 2 * i)));
      const double angle = 2.0 * std::numbers::pi * Uniform(seed, stream, 2 * i + 1);
      data[i] = static_cast<float>(deviation * radius * std::cos(angle));
    }
  });
}

int64_t BlockFor(int64_t length) {
  int64_t block = std::min(length, kQueryBlock);
  while (length % block != 0) --block;
  return block;
}

}  // namespace

Llama::Llama(const LlamaShape& shape, torch::ScalarType compute, torch::Device device,
             uint64_t seed)
    : shape_(shape), compute_(compute), device_(device), seed_(seed) {
  TORCH_CHECK(shape.heads % shape.kv_heads == 0, "heads must be a multiple of kv_heads");
  const double deviation = 0.02;
  embed_ = AddParameter("model.embed_tokens.weight", {shape.vocab, shape.hidden}, deviation);
  for (int64_t i = 0; i < shape.layers; ++i) layers_.push_back(AddLayer(i));
  norm_ = AddParameter("model.norm.weight", {shape.hidden}, 0.0);
  if (shape.tied_embeddings) {
    head_.masters = {embed_};
  } else {
    head_ = AddMatrix({{"lm_head.weight", shape.vocab}}, shape.hidden, deviation);
  }
  Refresh();
}

Tensor Llama::AddParameter(const std::string& name, const std::vector<int64_t>& shape,
                           double deviation) {
  Tensor value = torch::ones(shape);
  if (shape.size() > 1) FillNormal(seed_, parameters_.size(), deviation, value);
  value = value.to(device_).requires_grad_();
  parameters_.push_back({name, value, shape.size() > 1});
  return value;
}

Llama::Matrix Llama::AddMatrix(const std::vector<Part>& parts, int64_t columns, double deviation) {
  Matrix matrix;
  for (const Part& part : parts) {
    matrix.masters.push_back(AddParameter(part.name, {part.rows, columns}, deviation));
  }
  return matrix;
}

Llama::Layer Llama::AddLayer(int64_t index) {
  const std::string at = "model.layers." + std::to_string(index) + ".";
  const int64_t q = shape_.heads * shape_.head_dim, kv = shape_.kv_heads * shape_.head_dim;
  const double deviation = 0.02;
  const double into_residual = deviation / std::sqrt(2.0 * static_cast<double>(shape_.layers));
  Layer layer;
  layer.input_norm = AddParameter(at + "input_layernorm.weight", {shape_.hidden}, 0.0);
  layer.qkv = AddMatrix({{at + "self_attn.q_proj.weight", q},
                         {at + "self_attn.k_proj.weight", kv},
                         {at + "self_attn.v_proj.weight", kv}},
                        shape_.hidden, deviation);
  layer.out = AddMatrix({{at + "self_attn.o_proj.weight", shape_.hidden}}, q, into_residual);
  layer.post_norm = AddParameter(at + "post_attention_layernorm.weight", {shape_.hidden}, 0.0);
  layer.gate_up = AddMatrix(
      {{at + "mlp.gate_proj.weight", shape_.ffn}, {at + "mlp.up_proj.weight", shape_.ffn}},
      shape_.hidden, deviation);
  layer.down = AddMatrix({{at + "mlp.down_proj.weight", shape_.hidden}}, shape_.ffn, into_residual);
  return layer;
}

void Llama::RefreshMatrix(Matrix& matrix) {
  if (!matrix.compute.defined()) {
    matrix.compute = torch::cat(matrix.masters).to(compute_);
    return;
  }
  int64_t first = 0;
  for (const Tensor& master : matrix.masters) {
    matrix.compute.narrow(0, first, master.size(0)).copy_(master);
    first += master.size(0);
  }
}

void Llama::Refresh() {
  torch::NoGradGuard no_grad;
  for (Layer& layer : layers_) {
    for (Matrix* m : {&layer.qkv, &layer.out, &layer.gate_up, &layer.down}) RefreshMatrix(*m);
  }
  RefreshMatrix(head_);
}

AttentionShape Llama::ShapeOf(int64_t batch, int64_t length) const {
  return {batch, length, shape_.heads, shape_.kv_heads, shape_.head_dim, BlockFor(length)};
}

Tensor Llama::Loss(const Batch& batch, double scale) {
  const AttentionShape attention = ShapeOf(batch.batch, batch.length);
  Tensor& rope = ropes_[batch.length];
  if (!rope.defined()) {
    rope = RopeTable(batch.length, shape_.head_dim, shape_.rope_base).to(device_);
  }
  Tensor h = Embed(embed_, batch.ids), delta;
  for (const Layer& layer : layers_) {
    const NormResult a = AddRmsNorm(h, delta, layer.input_norm, shape_.norm_eps, compute_);
    const Tensor qkv = Linear(a.normed, layer.qkv.masters, layer.qkv.compute);
    const Tensor mixed = Attention(qkv, attention, rope, batch.first_key);
    delta = Linear(mixed, layer.out.masters, layer.out.compute);
    const NormResult b = AddRmsNorm(a.residual, delta, layer.post_norm, shape_.norm_eps, compute_);
    const Tensor gate_up = Linear(b.normed, layer.gate_up.masters, layer.gate_up.compute);
    delta = Linear(SwiGlu(gate_up), layer.down.masters, layer.down.compute);
    h = b.residual;
  }
  const NormResult last = AddRmsNorm(h, delta, norm_, shape_.norm_eps, compute_);
  return LmLoss(last.normed, head_.masters[0], head_.compute, batch.targets, batch.weights, scale,
                kLossChunk);
}

double Llama::StepFlops(int64_t rows, int64_t length) const {
  double weights = static_cast<double>(shape_.vocab * shape_.hidden);
  for (const NamedParameter& p : parameters_) {
    const bool is_matrix = p.value.dim() == 2 && p.value.size(0) != shape_.vocab;
    if (is_matrix) weights += static_cast<double>(p.value.numel());
  }
  const AttentionShape s = ShapeOf(1, length);
  double scores = 0.0;  // a sequence's, all heads and layers
  for (int64_t i = 0; i < s.blocks(); ++i) {
    scores += static_cast<double>(shape_.layers * s.heads * s.block * (i + 1) * s.block);
  }
  const double sequences = static_cast<double>(rows) / static_cast<double>(length);
  return 6.0 * weights * static_cast<double>(rows) +
         12.0 * scores * sequences * static_cast<double>(s.head_dim);
}

}  // namespace foretoken::train
