#include "chimera/module.h"

#include <cmath>

#include "chimera/attention.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

// The rows of a batch that hold the tokens of each row's n-gram: [rows, n] int64 (methods.md 4.1).
// Where a document has fewer tokens, the row itself fills what is left.
Tensor NgramRows(const Batch& batch, int64_t n) {
  const auto options = torch::TensorOptions(batch.first_key.device()).dtype(torch::kInt64);
  const Tensor pos = torch::arange(batch.length, options).view({1, -1, 1});
  const Tensor first = batch.first_key.to(torch::kInt64).unsqueeze(2);
  const Tensor slot = torch::arange(n, options).view({1, 1, -1});
  const Tensor early = torch::minimum(first + slot, pos);
  const Tensor column = torch::where((pos - first).lt(n - 1), early, pos - (n - 1) + slot);
  const Tensor sequence = torch::arange(batch.batch, options).view({-1, 1, 1}) * batch.length;
  return (column + sequence).view({-1, n});
}

}  // namespace

ChimeraModule::ChimeraModule(const FrozenTarget& target, const ChimeraShape& shape,
                             WeightOptions options)
    : target_(target),
      shape_(shape),
      weights_(std::move(options)),
      ropes_(target.shape().rotary(), target.shape().rope_base, weights_.device()) {
  const int64_t width = target.shape().hidden, wide = shape.ngram * width;
  mixed_ = &weights_.AddMatrix({{"trimlp.0.linear.weight", wide}}, wide, 0.0);
  mixed_bias_ = weights_.AddZeros("trimlp.0.linear.bias", wide);
  output_ = &weights_.AddMatrix({{"trimlp.1.weight", width}}, wide,
                                1.0 / std::sqrt(3.0 * static_cast<double>(wide)));
  block_ = AddBlock(weights_, "layers.0.", target.shape(), true, kInitialDeviation);
  const Tensor half = shape.shared_output ? torch::eye(width, weights_.device())
                                          : target.head().to(torch::kFloat32);
  for (int64_t k = 0; k < shape.heads; ++k) {
    const std::string name = "chimera_head." + std::to_string(k) + ".0.weight";
    heads_.push_back(&weights_.AddCopy(name, torch::cat({half, half}, 1)));
  }
}

Tensor ChimeraModule::NgramStates(const Batch& batch) const {
  const Tensor ids = batch.ids.index_select(0, NgramRows(batch, shape_.ngram).view({-1}));
  const Tensor u = target_.Embeddings(ids).view({batch.ids.size(0), -1});
  const Tensor inner = Linear(u, *mixed_).to(torch::kFloat32) + mixed_bias_;
  return Linear(u + torch::silu(inner).to(u.scalar_type()), *output_);
}

ChimeraContext ChimeraModule::Encode(const Batch& batch, const Tensor& features) {
  const AttentionShape attention = AttentionShapeOf(target_.shape(), batch.batch, batch.length);
  const double eps = target_.shape().norm_eps;
  const torch::ScalarType compute = weights_.compute();
  const Tensor wide = NgramStates(batch).to(torch::kFloat32);
  const NormResult states = AddRmsNorm(wide, {}, block_.input_norm, eps, compute);
  const Tensor seen =
      AddRmsNorm(features.to(torch::kFloat32), {}, block_.input_norm, eps, compute).normed;
  const Tensor own = Linear(states.normed, *block_.qkv);
  // Nobody asks what a feature attends to.
  const int64_t queries = attention.heads * attention.head_dim;
  const auto& masters = block_.qkv->masters;
  const Matrix keys_values{{masters[1], masters[2]},
                           block_.qkv->compute.slice(0, queries, attention.width())};
  return {states.residual, ContextAttention(own, Linear(seen, keys_values), shape_.heads, attention,
                                            ropes_.For(batch.length), batch.first_key)};
}

Tensor ChimeraModule::Output(const ChimeraContext& context, int64_t head,
                             const Tensor& rows) const {
  const Tensor attended = context.attended[static_cast<size_t>(head)].index_select(0, rows);
  const Stream out =
      FeedForward(block_, {context.states.index_select(0, rows), Linear(attended, *block_.out)},
                  target_.shape().norm_eps, weights_.compute());
  return out.h + out.delta;
}

Tensor ChimeraModule::Distance(const Batch& batch, const ChimeraContext& context,
                               const Tensor& features) const {
  const Tensor pos = torch::arange(batch.length, batch.first_key.options());
  const Tensor rows = batch.first_key.lt(pos).view({-1}).nonzero().squeeze(1);
  if (rows.size(0) == 0) return torch::zeros({}, batch.weights.options());
  return torch::mse_loss(Output(context, 0, rows),
                         features.index_select(0, rows).to(torch::kFloat32));
}

Tensor ChimeraModule::States(int64_t head, const Tensor& features, const Tensor& outputs) const {
  const Tensor both = torch::cat({features, outputs.to(features.scalar_type())}, 1);
  return shape_.shared_output ? Linear(both, *heads_[static_cast<size_t>(head)]) : both;
}

const Matrix& ChimeraModule::scores(int64_t head) const {
  return shape_.shared_output ? target_.head_matrix() : *heads_[static_cast<size_t>(head)];
}

double ChimeraModule::EncoderFlops(int64_t rows, int64_t length) const {
  const LlamaShape& s = target_.shape();
  const int64_t wide = shape_.ngram * s.hidden, heads = s.heads * s.head_dim;
  const int64_t weights =
      wide * (wide + s.hidden) + s.hidden * (heads + 4 * s.kv_heads * s.head_dim);
  // Scores once, values once a head, with features and states, by causal blocks.
  const int64_t block = AttentionShapeOf(s, 1, length).block;
  const double pairs = static_cast<double>(rows) * static_cast<double>(length + block) / 2.0;
  return 2.0 * static_cast<double>(weights * rows) +
         4.0 * pairs * static_cast<double>(heads * (1 + shape_.heads));
}

double ChimeraModule::OutputFlops(int64_t rows) const {
  const LlamaShape& s = target_.shape();
  return 2.0 * static_cast<double>(rows * s.hidden * (s.heads * s.head_dim + 3 * s.ffn));
}

double ChimeraModule::HeadFlops(int64_t rows) const {
  const LlamaShape& s = target_.shape();
  const int64_t own = 2 * s.hidden * (shape_.shared_output ? s.hidden : s.vocab);
  return 2.0 * static_cast<double>(rows * own) +
         (shape_.shared_output ? target_.HeadFlops(rows) : 0.0);
}

}  // namespace foretoken::train
