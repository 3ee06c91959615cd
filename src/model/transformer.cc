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

}  // namespace

Transformer::Transformer(const ModelConfig& config, TransformerWeights weights, Backend& backend,
                         const ModelOptions& options)
    : config_(config),
      weights_(std::move(weights)),
      backend_(backend),
      layers_(config, std::move(weights_.layers), backend, options.max_rows),
      weight_bytes_(layers_.weight_bytes() + OutputHead().bytes()),
      hidden_taps_(config.layers + 1),
      query_taps_(config.layers) {}

Tensor Transformer::Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                            const TapSpec& spec, std::span<Taps> taps) {
  const Pass pass{.batch = batch,
                  .caches = caches,
                  .spec = spec,
                  .rows = batch.rows(),
                  .tap_final = Contains(spec.hidden, config_.layers)};
  Check(pass, taps);
  layers_.Begin(batch, caches);
  ReserveTaps();
  ReserveLogits(static_cast<int>(batch.logit_rows.size()));
  backend_.Embed(*weights_.embedding, batch.token, layers_.residual().Rows(0, pass.rows));
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
  FT_CHECK(batch.position.size() == batch.token.size());
  FT_CHECK(batch.parent.size() == batch.token.size());
  FT_CHECK(batch.begin.front() == 0 && batch.begin.back() == pass.rows);
  for (const Token token : batch.token) FT_CHECK(0 <= token && token < config_.vocab);
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const int previous = i == 0 ? -1 : batch.logit_rows[i - 1];
    FT_CHECK(previous < batch.logit_rows[i] && batch.logit_rows[i] < pass.rows);
  }
  FT_CHECK(spec.hidden.empty() ||
           (spec.hidden.front() >= 0 && spec.hidden.back() <= config_.layers));
  const bool none = spec.hidden.empty() && spec.queries.empty() && spec.kv_layers.empty() &&
                    !spec.head_input && !spec.answers;
  FT_CHECK(taps.size() == pass.caches.size() || (none && taps.empty()));
}

// Taps hold as many rows as the layers' own scratch.
void Transformer::ReserveTaps() {
  if (layers_.row_capacity() == tap_capacity_) return;
  tap_capacity_ = layers_.row_capacity();
  std::ranges::fill(hidden_taps_, Buffer{});
  std::ranges::fill(query_taps_, Buffer{});
}

void Transformer::ReserveLogits(int rows) {
  if (rows <= logits_.tensor.rows) return;
  logits_ = backend_.Allocate(DType::kF32,
                              std::min<int>(max_rows(), std::bit_ceil(static_cast<unsigned>(rows))),
                              config_.vocab);
}

Tensor Transformer::Tap(std::vector<Buffer>& buffers, int index, int64_t cols) {
  Buffer& buffer = buffers.at(index);
  if (buffer.tensor.empty()) buffer = backend_.Allocate(DType::kF32, tap_capacity_, cols);
  return buffer.tensor;
}

void Transformer::TapResidual(const Pass& pass, int index) {
  if (index == config_.layers || !Contains(pass.spec.hidden, index)) return;
  backend_.StoreRows(layers_.residual().Rows(0, pass.rows),
                     Tap(hidden_taps_, index, config_.hidden).Rows(0, pass.rows));
}

// Runs every layer over the residual stream and returns how many of its rows are left: all of them,
// or the rows whose logits are wanted when nobody reads the others after the last attention.
int Transformer::RunLayers(const Pass& pass) {
  int rows = pass.rows;
  for (int layer = 0; layer < config_.layers; ++layer) {
    const bool tapped = Contains(pass.spec.queries, layer);
    Tensor q = layers_.queries(rows);
    if (tapped) q = Tap(query_taps_, layer, q.cols).Rows(0, rows);
    layers_.Project(layer, q);
    const bool narrow = layer + 1 == config_.layers && !pass.tap_final;
    if (narrow && pass.batch.logit_rows.empty()) return 0;
    layers_.Attend(layer, q);
    if (narrow) rows = KeepLogitRows(pass, rows);
    layers_.FeedForward(layer, rows);
    TapResidual(pass, layer + 1);
  }
  return rows;
}

// Moves the rows whose logits are wanted to the front of the residual stream; returns their number.
int Transformer::KeepLogitRows(const Pass& pass, int rows) {
  const int count = static_cast<int>(pass.batch.logit_rows.size());
  if (count < rows) backend_.CompactRows(layers_.residual(), pass.batch.logit_rows, 0);
  return count;
}

// Logits of the rows that want them, from a residual stream of `rows` rows.
Tensor Transformer::Logits(const Pass& pass, int rows) {
  const Tensor& gain = weights_.final_norm.tensor;
  if (pass.tap_final) {
    backend_.RmsNorm(layers_.residual().Rows(0, rows), gain, config_.norm_eps,
                     Tap(hidden_taps_, config_.layers, config_.hidden).Rows(0, rows));
  }
  const int count = KeepLogitRows(pass, rows);
  const Tensor logits = logits_.tensor.Rows(0, count);
  if (count == 0) return logits;
  if (pass.spec.head_input) {
    if (head_input_.tensor.rows < count) {
      head_input_ = backend_.Allocate(DType::kF32, logits_.tensor.rows, config_.hidden);
    }
    backend_.RmsNorm(layers_.residual().Rows(0, count), gain, config_.norm_eps,
                     head_input_.tensor.Rows(0, count));
  }
  backend_.Linear({layers_.residual().Rows(0, count), gain, config_.norm_eps},
                  std::array{LinearOut{.weight = &OutputHead(), .out = logits}});
  return logits;
}

Tensor Transformer::HeadInputOf(const Pass& pass, int sequence) const {
  const std::vector<int>& rows = pass.batch.logit_rows;
  const auto before = [&](int row) { return std::ranges::lower_bound(rows, row) - rows.begin(); };
  const auto s = static_cast<size_t>(sequence);
  const auto begin = before(pass.batch.begin[s]), end = before(pass.batch.begin[s + 1]);
  return begin == end ? Tensor() : head_input_.tensor.Rows(begin, end - begin);
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
    if (pass.spec.head_input) taps[s].SetHeadInput(HeadInputOf(pass, static_cast<int>(s)));
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
