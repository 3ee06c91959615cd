#include "model/transformer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "model/model_config.h"

namespace foretoken {
namespace {

bool Contains(const std::vector<int>& ascending, int value) {
  return std::ranges::binary_search(ascending, value);
}

size_t WeightBytes(const TransformerWeights& weights) {
  size_t total = (weights.head != nullptr ? weights.head : weights.embedding)->bytes();
  for (const LayerWeights& w : weights.layers) {
    for (const Weight* m :
         {w.q.get(), w.k.get(), w.v.get(), w.o.get(), w.gate.get(), w.up.get(), w.down.get()}) {
      total += m->bytes();
    }
  }
  return total;
}

// The part of `flat` [1, n] that begins at `offset`, as a matrix; moves `offset` past it.
Tensor Carve(const Tensor& flat, int64_t rows, int64_t cols, int64_t& offset) {
  Tensor t = flat.Cols(offset, rows * cols);
  t.rows = rows;
  t.cols = cols;
  t.row_bytes = cols * static_cast<int64_t>(sizeof(float));
  offset += rows * cols;
  return t;
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, TransformerWeights weights, Backend& backend,
                         const ModelOptions& options)
    : config_(config),
      weights_(std::move(weights)),
      backend_(backend),
      max_rows_(options.max_rows),
      weight_bytes_(WeightBytes(weights_)),
      rope_(MakeRopeTable(config)),
      hidden_taps_(config.layers + 1),
      query_taps_(config.layers) {
  FT_CHECK(max_rows_ > 0);
}

std::unique_ptr<KvCache> Transformer::NewCache(int capacity, DType type) const {
  return std::make_unique<KvCache>(backend_, type, config_.layers,
                                   config_.kv_heads * config_.head_dim, capacity);
}

Tensor Transformer::Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                            const TapSpec& spec, std::span<Taps> taps) {
  const Pass pass{.batch = batch,
                  .caches = caches,
                  .spec = spec,
                  .rows = batch.rows(),
                  .tap_final = Contains(spec.hidden, config_.layers)};
  Check(pass, taps);
  ReserveRows(pass.rows);
  ReserveLogits(static_cast<int>(batch.logit_rows.size()));
  AppendRows(pass);
  backend_.Embed(*weights_.embedding, batch.token, residual_.tensor.Rows(0, pass.rows));
  TapResidual(pass, 0);
  const int rows = RunLayers(pass);
  const Tensor logits = Logits(pass, rows);
  FillTaps(pass, taps);
  if (spec.answers) FillAnswers(pass, logits, taps);
  return logits;
}

void Transformer::Check(const Pass& pass, std::span<Taps> taps) const {
  const RowBatch& batch = pass.batch;
  const TapSpec& spec = pass.spec;
  FT_CHECK(1 <= pass.rows && pass.rows <= max_rows_);
  FT_CHECK(batch.position.size() == batch.token.size());
  FT_CHECK(batch.parent.size() == batch.token.size());
  FT_CHECK(batch.begin.front() == 0 && batch.begin.back() == pass.rows);
  FT_CHECK(pass.caches.size() + 1 == batch.begin.size());
  for (const Token token : batch.token) FT_CHECK(0 <= token && token < config_.vocab);
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const int previous = i == 0 ? -1 : batch.logit_rows[i - 1];
    FT_CHECK(previous < batch.logit_rows[i] && batch.logit_rows[i] < pass.rows);
  }
  FT_CHECK(spec.hidden.empty() ||
           (spec.hidden.front() >= 0 && spec.hidden.back() <= config_.layers));
  const bool none =
      spec.hidden.empty() && spec.queries.empty() && spec.kv_layers.empty() && !spec.answers;
  FT_CHECK(taps.size() == pass.caches.size() || (none && taps.empty()));
}

// Scratch grows to a power of two rows, so that a short chat does not pay for the longest prompt.
void Transformer::ReserveRows(int rows) {
  if (rows <= row_capacity_) return;
  row_capacity_ = std::min<int>(max_rows_, std::bit_ceil(static_cast<unsigned>(rows)));
  const int64_t n = row_capacity_;
  const int64_t q_cols = int64_t{config_.heads} * config_.head_dim;
  const int64_t kv_cols = int64_t{config_.kv_heads} * config_.head_dim;
  residual_ = backend_.Allocate(DType::kF32, n, config_.hidden);
  normed_ = backend_.Allocate(DType::kF32, n, config_.hidden);
  const int64_t wide = n * std::max(2 * q_cols + 2 * kv_cols, 2 * int64_t{config_.ffn});
  wide_ = backend_.Allocate(DType::kF32, 1, wide);
  int64_t offset = 0;
  q_ = Carve(wide_.tensor, n, q_cols, offset);
  k_ = Carve(wide_.tensor, n, kv_cols, offset);
  v_ = Carve(wide_.tensor, n, kv_cols, offset);
  attended_ = Carve(wide_.tensor, n, q_cols, offset);
  offset = 0;
  gate_ = Carve(wide_.tensor, n, config_.ffn, offset);
  up_ = Carve(wide_.tensor, n, config_.ffn, offset);
  std::ranges::fill(hidden_taps_, Buffer{});
  std::ranges::fill(query_taps_, Buffer{});
}

void Transformer::ReserveLogits(int rows) {
  if (rows <= logits_.tensor.rows) return;
  logits_ = backend_.Allocate(DType::kF32,
                              std::min<int>(max_rows_, std::bit_ceil(static_cast<unsigned>(rows))),
                              config_.vocab);
}

void Transformer::AppendRows(const Pass& pass) {
  const size_t sequences = pass.caches.size();
  visible_.resize(std::max(visible_.size(), sequences));
  first_row_.resize(sequences);
  for (size_t s = 0; s < sequences; ++s) {
    const int begin = pass.batch.begin[s];
    const int count = pass.batch.begin[s + 1] - begin;
    KvCache& cache = *pass.caches[s];
    const int first = cache.Append(std::span(pass.batch.parent).subspan(begin, count));
    cache.VisibleFrom(first, count, visible_[s]);
    first_row_[s] = cache.length() + first;
  }
}

Tensor Transformer::Tap(std::vector<Buffer>& buffers, int index, int64_t cols) {
  Buffer& buffer = buffers.at(index);
  if (buffer.tensor.empty()) buffer = backend_.Allocate(DType::kF32, row_capacity_, cols);
  return buffer.tensor;
}

void Transformer::TapResidual(const Pass& pass, int index) {
  if (index == config_.layers || !Contains(pass.spec.hidden, index)) return;
  backend_.StoreRows(residual_.tensor.Rows(0, pass.rows),
                     Tap(hidden_taps_, index, config_.hidden).Rows(0, pass.rows));
}

// Runs every layer over the residual stream and returns how many of its rows are left: all of them,
// or the rows whose logits are wanted when nobody reads the others after the last attention.
int Transformer::RunLayers(const Pass& pass) {
  int rows = pass.rows;
  for (int layer = 0; layer < config_.layers; ++layer) {
    const bool tapped = Contains(pass.spec.queries, layer);
    const int64_t q_cols = q_.cols;
    const Tensor q = (tapped ? Tap(query_taps_, layer, q_cols) : q_).Rows(0, rows);
    Project(pass, layer, q);
    StoreKeysValues(pass, layer);
    const bool narrow = layer + 1 == config_.layers && !pass.tap_final;
    if (narrow && pass.batch.logit_rows.empty()) return 0;
    Attend(pass, layer, q);
    if (narrow) rows = KeepLogitRows(pass, rows);
    FeedForward(layer, rows);
    TapResidual(pass, layer + 1);
  }
  return rows;
}

// Moves the rows whose logits are wanted to the front of the residual stream; returns their number.
int Transformer::KeepLogitRows(const Pass& pass, int rows) {
  const int count = static_cast<int>(pass.batch.logit_rows.size());
  if (count < rows) backend_.CompactRows(residual_.tensor, pass.batch.logit_rows, 0);
  return count;
}

// Rotated queries to `q`, rotated keys and values to k_ and v_.
void Transformer::Project(const Pass& pass, int layer, Tensor q) {
  const LayerWeights& w = weights_.layers[layer];
  const Tensor x = normed_.tensor.Rows(0, pass.rows);
  const Tensor k = k_.Rows(0, pass.rows);
  const Tensor v = v_.Rows(0, pass.rows);
  backend_.RmsNorm(residual_.tensor.Rows(0, pass.rows), w.attention_norm.tensor, config_.norm_eps,
                   x);
  backend_.Linear(x, std::array{LinearOut{.weight = w.q.get(), .out = q, .bias = w.q_bias.tensor},
                                LinearOut{.weight = w.k.get(), .out = k, .bias = w.k_bias.tensor},
                                LinearOut{.weight = w.v.get(), .out = v, .bias = w.v_bias.tensor}});
  if (config_.qk_norm) {
    backend_.RmsNorm(q, w.q_norm.tensor, config_.norm_eps, q);
    backend_.RmsNorm(k, w.k_norm.tensor, config_.norm_eps, k);
  }
  backend_.Rope(q, pass.batch.position, config_.head_dim, rope_);
  backend_.Rope(k, pass.batch.position, config_.head_dim, rope_);
}

void Transformer::StoreKeysValues(const Pass& pass, int layer) {
  for (size_t s = 0; s < pass.caches.size(); ++s) {
    const int begin = pass.batch.begin[s];
    const int count = pass.batch.begin[s + 1] - begin;
    if (count == 0) continue;
    const KvCache& cache = *pass.caches[s];
    backend_.StoreRows(k_.Rows(begin, count), cache.Keys(layer).Rows(first_row_[s], count));
    backend_.StoreRows(v_.Rows(begin, count), cache.Values(layer).Rows(first_row_[s], count));
  }
}

void Transformer::Attend(const Pass& pass, int layer, Tensor q) {
  for (size_t s = 0; s < pass.caches.size(); ++s) {
    const int begin = pass.batch.begin[s];
    const int count = pass.batch.begin[s + 1] - begin;
    if (count == 0) continue;
    const KvCache& cache = *pass.caches[s];
    backend_.Attention({.q = q.Rows(begin, count),
                        .keys = cache.Keys(layer),
                        .values = cache.Values(layer),
                        .out = attended_.Rows(begin, count),
                        .head_dim = config_.head_dim,
                        .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim)),
                        .window = config_.sliding_window,
                        .visible = &visible_[s]});
  }
  const LayerWeights& w = weights_.layers[layer];
  backend_.Linear(
      attended_.Rows(0, pass.rows),
      std::array{LinearOut{
          .weight = w.o.get(), .out = residual_.tensor.Rows(0, pass.rows), .accumulate = true}});
}

void Transformer::FeedForward(int layer, int rows) {
  const LayerWeights& w = weights_.layers[layer];
  const Tensor residual = residual_.tensor.Rows(0, rows);
  const Tensor x = normed_.tensor.Rows(0, rows);
  const Tensor gate = gate_.Rows(0, rows);
  const Tensor up = up_.Rows(0, rows);
  backend_.RmsNorm(residual, w.ffn_norm.tensor, config_.norm_eps, x);
  backend_.Linear(x, std::array{LinearOut{.weight = w.gate.get(), .out = gate},
                                LinearOut{.weight = w.up.get(), .out = up}});
  backend_.SiluMul(gate, up);
  backend_.Linear(
      gate, std::array{LinearOut{.weight = w.down.get(), .out = residual, .accumulate = true}});
}

// Logits of the rows that want them, from a residual stream of `rows` rows.
Tensor Transformer::Logits(const Pass& pass, int rows) {
  const Tensor& gain = weights_.final_norm.tensor;
  if (pass.tap_final) {
    backend_.RmsNorm(residual_.tensor.Rows(0, rows), gain, config_.norm_eps,
                     Tap(hidden_taps_, config_.layers, config_.hidden).Rows(0, rows));
  }
  const int count = KeepLogitRows(pass, rows);
  const Tensor logits = logits_.tensor.Rows(0, count);
  if (count == 0) return logits;
  const Tensor x = normed_.tensor.Rows(0, count);
  backend_.RmsNorm(residual_.tensor.Rows(0, count), gain, config_.norm_eps, x);
  backend_.Linear(x, std::array{LinearOut{.weight = &OutputHead(), .out = logits}});
  return logits;
}

void Transformer::FillTaps(const Pass& pass, std::span<Taps> taps) const {
  for (size_t s = 0; s < taps.size(); ++s) {
    const int begin = pass.batch.begin[s];
    const int count = pass.batch.begin[s + 1] - begin;
    const KvCache& cache = *pass.caches[s];
    for (const int index : pass.spec.hidden) {
      taps[s].SetHidden(index, hidden_taps_[index].tensor.Rows(begin, count));
    }
    for (const int layer : pass.spec.queries) {
      taps[s].SetQueries(layer, query_taps_[layer].tensor.Rows(begin, count));
    }
    for (const int layer : pass.spec.kv_layers) {
      taps[s].SetCache(layer, cache.Keys(layer), cache.Values(layer));
    }
  }
}

// Only where the logits of all rows were asked for.
void Transformer::FillAnswers(const Pass& pass, Tensor logits, std::span<Taps> taps) {
  const bool all = logits.rows == pass.rows;
  answers_.resize(static_cast<size_t>(pass.rows));
  if (all) backend_.ArgMax(logits, answers_);
  for (size_t s = 0; s < taps.size(); ++s) {
    const int begin = pass.batch.begin[s];
    const int count = all ? pass.batch.begin[s + 1] - begin : 0;
    taps[s].SetAnswers(std::span(answers_).subspan(begin, count));
  }
}

}  // namespace foretoken
