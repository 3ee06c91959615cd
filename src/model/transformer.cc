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

Result<Tensor> Transformer::Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                                    const TapSpec& spec, std::span<Taps> taps) {
  const Pass pass{.batch = batch,
                  .caches = caches,
                  .spec = spec,
                  .rows = batch.rows(),
                  .tap_final = Contains(spec.hidden, config_.layers)};
  Check(pass, taps);
  FT_RETURN_IF_ERROR(layers_.Begin(batch, caches));
  FT_RETURN_IF_ERROR(ReserveTaps(spec));
  FT_RETURN_IF_ERROR(ReserveLogits(static_cast<int>(batch.logit_rows.size()), spec.head_input));
  backend_.Embed(*weights_.embedding, batch.token, layers_.residual().Rows(0, pass.rows));
  TapResidual(pass, 0);
  const int rows = RunLayers(pass);
  const Tensor logits = Logits(pass, rows);
  FT_RETURN_IF_ERROR(backend_.TakeFailure());
  FillTaps(pass, taps);
  if (spec.answers) FillAnswers(pass, logits, taps);
  return logits;
}

Result<std::unique_ptr<Weight>> Transformer::PickHeadRows(std::span<const Token> tokens,
                                                          std::optional<DType> type) {
  return weights_.source->PickRows(std::string(HeadName(config_)), config_.vocab, config_.hidden,
                                   tokens, type);
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
  FT_CHECK(!spec.answers || OutputHead().rows() == config_.vocab);
  FT_CHECK(taps.size() == pass.caches.size() || (none && taps.empty()));
}

// Allocates taps with as many rows as the layers' own scratch.
Status Transformer::ReserveTaps(const TapSpec& spec) {
  if (layers_.row_capacity() != tap_capacity_) {
    tap_capacity_ = layers_.row_capacity();
    std::ranges::fill(hidden_taps_, Buffer{});
    std::ranges::fill(query_taps_, Buffer{});
  }
  const auto reserve = [this](Buffer& buffer, int64_t cols) -> Status {
    if (!buffer.tensor.empty()) return {};
    FT_ASSIGN_OR_RETURN(buffer, backend_.Allocate(DType::kF32, tap_capacity_, cols));
    return {};
  };
  for (const int index : spec.hidden) {
    FT_RETURN_IF_ERROR(reserve(hidden_taps_.at(index), config_.hidden));
  }
  const int64_t q_cols = int64_t{config_.heads} * config_.head_dim;
  for (const int layer : spec.queries) FT_RETURN_IF_ERROR(reserve(query_taps_.at(layer), q_cols));
  return {};
}

// Allocates logits and, if wanted, inputs of the LM head for `rows` rows.
Status Transformer::ReserveLogits(int rows, bool head_input) {
  const int64_t most = std::min<int>(max_rows(), std::bit_ceil(static_cast<unsigned>(rows)));
  if (rows > logits_.tensor.rows) {
    FT_ASSIGN_OR_RETURN(logits_, backend_.Allocate(DType::kF32, most, OutputHead().rows()));
  }
  if (head_input && rows > head_input_.tensor.rows) {
    FT_ASSIGN_OR_RETURN(head_input_, backend_.Allocate(DType::kF32, most, config_.hidden));
  }
  return {};
}

void Transformer::TapResidual(const Pass& pass, int index) {
  if (index == config_.layers || !Contains(pass.spec.hidden, index)) return;
  backend_.StoreRows(layers_.residual().Rows(0, pass.rows),
                     Tap(hidden_taps_, index).Rows(0, pass.rows));
}

// Runs every layer over the residual stream and returns the number of rows left in it: all of them,
// or, if nothing reads the others after the last attention, the rows whose logits are wanted.
int Transformer::RunLayers(const Pass& pass) {
  int rows = pass.rows;
  for (int layer = 0; layer < config_.layers; ++layer) {
    const bool tapped = Contains(pass.spec.queries, layer);
    Tensor q = layers_.queries(rows);
    if (tapped) q = Tap(query_taps_, layer).Rows(0, rows);
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
  if (count < rows) {
    const Tensor residual = layers_.residual();
    backend_.Gather(residual, pass.batch.logit_rows, residual.Rows(0, count));
  }
  return count;
}

// Computes the requested logits from a residual stream of `rows` rows.
Tensor Transformer::Logits(const Pass& pass, int rows) {
  const Tensor& gain = weights_.final_norm.tensor;
  if (pass.tap_final) {
    backend_.RmsNorm(layers_.residual().Rows(0, rows), gain, config_.norm_eps,
                     Tap(hidden_taps_, config_.layers).Rows(0, rows));
  }
  const int count = KeepLogitRows(pass, rows);
  const Tensor logits = logits_.tensor.Rows(0, count);
  if (count == 0) return logits;
  if (pass.spec.head_input) {
    backend_.RmsNorm(layers_.residual().Rows(0, count), gain, config_.norm_eps,
                     head_input_.tensor.Rows(0, count));
  }
  backend_.Linear({layers_.residual().Rows(0, count), gain, config_.norm_eps},
                  std::array{LinearOut{.weight = &OutputHead(), .out = logits}});
  return logits;
}

// The first row of a sequence in the logits, and the number of its rows there.
std::pair<int, int> Transformer::LogitsOf(const Pass& pass, int sequence) {
  const std::vector<int>& rows = pass.batch.logit_rows;
  const auto before = [&](int row) {
    return static_cast<int>(std::ranges::lower_bound(rows, row) - rows.begin());
  };
  const auto s = static_cast<size_t>(sequence);
  const int begin = before(pass.batch.begin[s]);
  return {begin, before(pass.batch.begin[s + 1]) - begin};
}

Tensor Transformer::HeadInputOf(const Pass& pass, int sequence) const {
  const auto [begin, count] = LogitsOf(pass, sequence);
  return count == 0 ? Tensor() : head_input_.tensor.Rows(begin, count);
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

// Fills answers only for sequences all of whose logits were requested.
void Transformer::FillAnswers(const Pass& pass, Tensor logits, std::span<Taps> taps) {
  answers_.resize(static_cast<size_t>(logits.rows));
  if (logits.rows > 0) backend_.ArgMax(logits, answers_);
  for (size_t s = 0; s < taps.size(); ++s) {
    const auto [begin, count] = LogitsOf(pass, static_cast<int>(s));
    const bool all = count == pass.batch.begin[s + 1] - pass.batch.begin[s];
    taps[s].SetAnswers(std::span(answers_).subspan(static_cast<size_t>(begin), all ? count : 0));
  }
}

}  // namespace foretoken
