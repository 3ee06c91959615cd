#include "chimera/module.h"

#include <cmath>

#include "chimera/attention.h"
#include "draft/chimera/chimera_spec.h"
#include "draft_accuracy.h"

namespace foretoken::train {

using torch::Tensor;

Tensor NgramRows(const Batch& batch, int64_t n) {
  const auto options = torch::TensorOptions(batch.first_key.device()).dtype(torch::kInt64);
  const Tensor pos = torch::arange(batch.length, options).view({1, -1, 1});
  const Tensor first = batch.first_key.to(torch::kInt64).unsqueeze(2);
  const Tensor slot = torch::arange(n, options).view({1, 1, -1});
  const Tensor near_beginning = torch::minimum(first + slot, pos);
  const Tensor column = torch::where((pos - first).lt(n - 1), near_beginning, pos - (n - 1) + slot);
  const Tensor sequence = torch::arange(batch.batch, options).view({-1, 1, 1}) * batch.length;
  return (column + sequence).view({-1, n});
}

Tensor SelfFedIds(const Batch& batch, const Tensor& ngram_rows, std::span<const Tensor> guesses) {
  const int64_t rows = ngram_rows.size(0), guess_count = static_cast<int64_t>(guesses.size());
  const auto options = ngram_rows.options();
  // The distance of each token to the last one of its n-gram, and each row's position in its
  // document.
  const Tensor back = torch::arange(rows, options).unsqueeze(1) - ngram_rows;
  const Tensor position = torch::arange(batch.length, options) - batch.first_key;
  const Tensor is_guess = back.lt(guess_count).logical_and(position.gt(guess_count).view({-1, 1}));
  // The prediction, after the row before the token, of the head that guesses the token.
  const Tensor guess_index =
      (guess_count - 1 - back).clamp_min(0) * rows + (ngram_rows - 1).clamp_min(0);
  const Tensor all_guesses = torch::cat(at::TensorList(guesses.data(), guesses.size()));
  const auto pick = [](const Tensor& from, const Tensor& index) {
    return from.index_select(0, index.reshape({-1})).view(index.sizes());
  };
  return torch::where(is_guess, pick(all_guesses, guess_index),
                      pick(batch.ids, ngram_rows).to(torch::kInt64));
}

ChimeraModule::ChimeraModule(const FrozenTarget& target, const ChimeraShape& shape,
                             WeightOptions options)
    : target_(target),
      shape_(shape),
      weights_(std::move(options)),
      ropes_(target.shape().rotary(), target.shape().rope_base, weights_.device()) {
  const ChimeraSpec spec{target.shape().hidden, target.shape().vocab, shape.ngram};
  const auto name = [](std::string_view file, const TensorSpec& tensor) {
    return std::string(file) + tensor.published;
  };
  const auto ngram_matrix = [&](const TensorSpec& t, double deviation) {
    return &weights_.AddMatrix({{name(ChimeraSpec::kNgramPrefix, t), t.rows()}}, t.cols(),
                               deviation);
  };
  ngram_inner_ = ngram_matrix(spec.NgramBlockWeight(), 0.0);
  ngram_inner_bias_ =
      weights_.AddZeros(name(ChimeraSpec::kNgramPrefix, spec.NgramBlockBias()), spec.NgramWidth());
  ngram_output_ = ngram_matrix(spec.NgramOutput(),
                               1.0 / std::sqrt(3.0 * static_cast<double>(spec.NgramWidth())));
  block_ = AddBlock(weights_, std::string(ChimeraSpec::kLayerInCheckpoint), target.shape(), true,
                    kInitialDeviation);
  const Tensor initial_half = shape.shared_output ? torch::eye(spec.hidden, weights_.device())
                                                  : target.head().to(torch::kFloat32);
  for (int k = 0; k < shape.heads; ++k) {
    const TensorSpec matrix = spec.HeadWeight(k, shape.shared_output);
    heads_.push_back(&weights_.AddCopy(name(ChimeraSpec::kHeadPrefix, matrix),
                                       torch::cat({initial_half, initial_half}, 1)));
  }
}

Tensor ChimeraModule::NgramStates(const Tensor& ids) const {
  const Tensor u = target_.Embeddings(ids.view({-1})).view({ids.size(0), -1});
  const Tensor inner = Linear(u, *ngram_inner_).to(torch::kFloat32) + ngram_inner_bias_;
  return Linear(u + torch::silu(inner).to(u.scalar_type()), *ngram_output_);
}

NormResult ChimeraModule::Normed(const Tensor& states) const {
  return AddRmsNorm(states.to(torch::kFloat32), {}, block_.input_norm, target_.shape().norm_eps,
                    weights_.compute());
}

// Returns keys and values only, because features need no queries.
Tensor ChimeraModule::KeysValues(const Tensor& features) const {
  const LlamaShape& s = target_.shape();
  const int64_t queries = s.heads * s.head_dim, all = queries + 2 * s.kv_heads * s.head_dim;
  const auto& masters = block_.qkv->masters;
  const Matrix keys_values{{masters[1], masters[2]}, block_.qkv->compute.slice(0, queries, all)};
  return Linear(Normed(features).normed, keys_values);
}

ChimeraContext ChimeraModule::Encode(const Batch& batch, const Tensor& features) {
  const Tensor rows = NgramRows(batch, shape_.ngram);
  const Tensor ids = batch.ids.index_select(0, rows.view({-1})).view(rows.sizes());
  const NormResult states = Normed(NgramStates(ids));
  return {std::vector<Tensor>(static_cast<size_t>(shape_.heads), states.residual),
          ContextAttention(Linear(states.normed, *block_.qkv), KeysValues(features), shape_.heads,
                           AttentionShapeOf(target_.shape(), batch.batch, batch.length),
                           ropes_.For(batch.length), batch.first_key)};
}

ChimeraContext ChimeraModule::EncodeSelfFed(const Batch& batch, const Tensor& features) {
  const AttentionShape attention = AttentionShapeOf(target_.shape(), batch.batch, batch.length);
  const Tensor& rope = ropes_.For(batch.length);
  const Tensor rows = NgramRows(batch, shape_.ngram), feature_keys_values = KeysValues(features);
  const Tensor text_states =
      NgramStates(batch.ids.index_select(0, rows.view({-1})).view(rows.sizes()));
  const NormResult text_normed = Normed(text_states);
  ChimeraContext context{
      {text_normed.residual},
      ContextAttention(Linear(text_normed.normed, *block_.qkv), feature_keys_values, 1, attention,
                       rope, batch.first_key)};
  std::vector<Tensor> sources = {Linear(Normed(text_states.detach()).normed, *block_.qkv)}, guesses;
  for (int64_t head = 1; head < shape_.heads; ++head) {
    guesses.push_back(Guesses(context, head - 1, features));
    const Tensor ids = SelfFedIds(batch, rows, guesses);
    const NormResult states = Normed(NgramStates(ids).detach());
    sources.push_back(Linear(states.normed, *block_.qkv));
    context.states.push_back(states.residual);
    context.attended.push_back(
        SelfFedAttention(sources, feature_keys_values, attention, rope, batch.first_key));
  }
  return context;
}

Tensor ChimeraModule::Guesses(const ChimeraContext& context, int64_t head,
                              const Tensor& features) const {
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions(features.device()).dtype(torch::kInt64);
  const Tensor outputs = Output(context, head, torch::arange(features.size(0), options));
  const Tensor states = States(head, features.roll(head + 1, 0), outputs);
  return Likeliest(states, scores(head).compute).select(1, 0);
}

Tensor ChimeraModule::Output(const ChimeraContext& context, int64_t head,
                             const Tensor& rows) const {
  const Tensor attended = context.attended[static_cast<size_t>(head)].index_select(0, rows);
  const Stream out = FeedForward(block_,
                                 {context.states[static_cast<size_t>(head)].index_select(0, rows),
                                  Linear(attended, *block_.out)},
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

double ChimeraModule::NgramFlops(int64_t rows) const {
  const int64_t hidden = target_.shape().hidden, wide = shape_.ngram * hidden;
  return 2.0 * static_cast<double>(rows * wide * (wide + hidden));
}

// Counts the causal blocks of one product over features and states.
double ChimeraModule::ScoreFlops(int64_t rows, int64_t length) const {
  const LlamaShape& s = target_.shape();
  const int64_t block = AttentionShapeOf(s, 1, length).block;
  const double pairs = static_cast<double>(rows) * static_cast<double>(length + block) / 2.0;
  return 4.0 * pairs * static_cast<double>(s.heads * s.head_dim);
}

double ChimeraModule::EncoderFlops(int64_t rows, int64_t length) const {
  const LlamaShape& s = target_.shape();
  const int64_t weights = s.hidden * (s.heads + 4 * s.kv_heads) * s.head_dim;
  // Scores are computed once for all heads, products with values once for each head.
  return NgramFlops(rows) + 2.0 * static_cast<double>(weights * rows) +
         ScoreFlops(rows, length) * static_cast<double>(1 + shape_.heads);
}

double ChimeraModule::SelfFedFlops(int64_t rows, int64_t length) const {
  const auto later_heads = static_cast<double>(shape_.heads - 1);
  const LlamaShape& s = target_.shape();
  const int64_t qkv = s.hidden * AttentionShapeOf(s, 1, length).width();
  const double guess_flops = NgramFlops(rows) + OutputFlops(rows) + HeadFlops(rows);
  return later_heads * (guess_flops + 3.0 * ScoreFlops(rows, length)) +
         3.0 * (later_heads + 1.0) * 2.0 * static_cast<double>(qkv * rows);
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
