#include "model/decoder_layers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "model/model_config.h"

namespace foretoken {

DecoderLayers::DecoderLayers(const ModelConfig& config, std::vector<LayerWeights> layers,
                             Backend& backend, int max_rows)
    : config_(config),
      layers_(std::move(layers)),
      backend_(backend),
      max_rows_(max_rows),
      rope_(MakeRopeTable(config)) {
  FT_CHECK(max_rows_ > 0 && std::ssize(layers_) == config_.layers);
}

size_t WeightBytes(std::span<const LayerWeights> layers) {
  size_t total = 0;
  for (const LayerWeights& w : layers) {
    for (const Weight* m :
         {w.q.get(), w.k.get(), w.v.get(), w.o.get(), w.gate.get(), w.up.get(), w.down.get()}) {
      total += m->bytes();
    }
  }
  return total;
}

const std::shared_ptr<PagePool>& DecoderLayers::PoolOf(DType type) const {
  std::shared_ptr<PagePool>& pool = pools_[type];
  if (pool == nullptr) {
    pool = PagePool::Create(backend_, {.type = type,
                                       .layers = config_.layers,
                                       .kv_heads = config_.kv_heads,
                                       .head_dim = config_.head_dim});
  }
  return pool;
}

std::unique_ptr<KvCache> DecoderLayers::NewCache(int usual, DType type) const {
  return std::make_unique<KvCache>(PoolOf(type), usual);
}

Status DecoderLayers::Begin(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_CHECK(1 <= batch.rows() && batch.rows() <= max_rows_);
  FT_CHECK(caches.size() + 1 == batch.begin.size());
  batch_ = &batch;
  FT_RETURN_IF_ERROR(ReserveRows(batch.rows()));
  parts_.resize(std::max(parts_.size(), caches.size()));
  part_count_ = 0;
  stores_.clear();
  attends_.clear();
  for (size_t s = 0; s < caches.size(); ++s) {
    const int begin = batch.begin[s], count = batch.begin[s + 1] - begin;
    if (count == 0) continue;
    FT_ASSIGN_OR_RETURN(const int first,
                        caches[s]->Append(std::span(batch.parent).subspan(begin, count)));
    Part& part = parts_[part_count_++];
    part.cache = caches[s];
    part.cache->VisibleFrom(first, count, part.visible);
    stores_.push_back({.to = part.cache->length() + first, .from = begin, .count = count});
    attends_.push_back({.visible = &part.visible, .first = begin});
  }
  return {};
}

// Scratch grows to a power of two of rows, so that a short chat does not take the memory of the
// longest prompt.
Status DecoderLayers::ReserveRows(int rows) {
  if (rows <= row_capacity_) return {};
  const int n = std::min<int>(max_rows_, std::bit_ceil(static_cast<unsigned>(rows)));
  const int64_t q_cols = int64_t{config_.heads} * config_.head_dim;
  const int64_t kv_cols = int64_t{config_.kv_heads} * config_.head_dim;
  FT_ASSIGN_OR_RETURN(residual_, backend_.Allocate(DType::kF32, n, config_.hidden));
  FT_ASSIGN_OR_RETURN(q_, backend_.Allocate(DType::kF32, n, q_cols));
  FT_ASSIGN_OR_RETURN(k_, backend_.Allocate(DType::kF32, n, kv_cols));
  FT_ASSIGN_OR_RETURN(v_, backend_.Allocate(DType::kF32, n, kv_cols));
  FT_ASSIGN_OR_RETURN(attended_, backend_.Allocate(DType::kF32, n, q_cols));
  row_capacity_ = n;
  return {};
}

void DecoderLayers::Run(int layer) { Run(layer, Normed(layer)); }

void DecoderLayers::Run(int layer, const LinearIn& x) {
  const Tensor q = queries(batch_->rows());
  Project(layer, q, x);
  Attend(layer, q);
  FeedForward(layer, batch_->rows());
}

Tensor DecoderLayers::RunForLast(int layer) { return RunForLast(layer, Normed(layer)); }

Tensor DecoderLayers::RunForLast(int layer, const LinearIn& x) {
  const int count = batch_->sequences();
  FT_CHECK(part_count_ == static_cast<size_t>(count));
  if (count == batch_->rows()) {
    Run(layer, x);
    return residual_.tensor.Rows(0, count);
  }
  Project(layer, /*queries=*/{}, x);
  last_rows_.clear();
  last_positions_.clear();
  for (int s = 0; s < count; ++s) {
    const auto at = static_cast<size_t>(s);
    last_rows_.push_back(batch_->begin[at + 1] - 1);
    last_positions_.push_back(batch_->position[static_cast<size_t>(last_rows_.back())]);
    Part& part = parts_[at];
    part.cache->VisibleFrom(part.cache->provisional() - 1, 1, part.visible);
    attends_[at].first = s;
  }
  const auto keep_last = [&](Tensor rows) {
    backend_.Gather(rows, last_rows_, rows.Rows(0, count));
  };
  keep_last(residual_.tensor);
  if (x.x.data != residual_.tensor.data) keep_last(x.x);
  const LayerWeights& w = layers_[layer];
  const Tensor q = queries(count);
  backend_.Linear({x.x.Rows(0, count), x.gain, x.eps},
                  std::array{LinearOut{.weight = w.q.get(), .out = q, .bias = w.q_bias.tensor}});
  Rotate(layer, q, last_positions_);
  AttendTo(layer, q, count);
  FeedForward(layer, count);
  return residual_.tensor.Rows(0, count);
}

LinearIn DecoderLayers::Normed(int layer) const {
  return {residual_.tensor.Rows(0, batch_->rows()), layers_[layer].attention_norm.tensor,
          config_.norm_eps};
}

void DecoderLayers::Project(int layer, Tensor q) { Project(layer, q, Normed(layer)); }

void DecoderLayers::Project(int layer, Tensor q, const LinearIn& x) {
  const LayerWeights& w = layers_[layer];
  const int rows = batch_->rows();
  const Tensor k = k_.tensor.Rows(0, rows);
  const Tensor v = v_.tensor.Rows(0, rows);
  const std::array outputs{LinearOut{.weight = w.q.get(), .out = q, .bias = w.q_bias.tensor},
                           LinearOut{.weight = w.k.get(), .out = k, .bias = w.k_bias.tensor},
                           LinearOut{.weight = w.v.get(), .out = v, .bias = w.v_bias.tensor}};
  backend_.Linear(x, std::span(outputs).subspan(q.empty() ? 1 : 0));
  if (config_.qk_norm) backend_.RmsNorm(k, w.k_norm.tensor, config_.norm_eps, k);
  backend_.Rope(k, batch_->position, config_.head_dim, rope_);
  StoreKeysValues(layer);
  if (!q.empty()) Rotate(layer, q, batch_->position);
}

void DecoderLayers::Rotate(int layer, Tensor q, std::span<const Pos> positions) {
  if (config_.qk_norm) backend_.RmsNorm(q, layers_[layer].q_norm.tensor, config_.norm_eps, q);
  backend_.Rope(q, positions, config_.head_dim, rope_);
}

void DecoderLayers::StoreKeysValues(int layer) {
  for (size_t p = 0; p < part_count_; ++p) stores_[p].rows = parts_[p].cache->Keys(layer);
  backend_.StoreRows(k_.tensor, stores_);
  for (size_t p = 0; p < part_count_; ++p) stores_[p].rows = parts_[p].cache->Values(layer);
  backend_.StoreRows(v_.tensor, stores_);
}

void DecoderLayers::Attend(int layer, Tensor q) { AttendTo(layer, q, batch_->rows()); }

void DecoderLayers::AttendTo(int layer, Tensor q, int rows) {
  for (size_t p = 0; p < part_count_; ++p) {
    attends_[p].keys = parts_[p].cache->Keys(layer);
    attends_[p].values = parts_[p].cache->Values(layer);
  }
  const Tensor attended = attended_.tensor.Rows(0, rows);
  backend_.Attention({.q = q,
                      .out = attended,
                      .sequences = attends_,
                      .head_dim = config_.head_dim,
                      .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim)),
                      .window = config_.sliding_window});
  backend_.Linear(attended, std::array{LinearOut{.weight = layers_[layer].o.get(),
                                                 .out = residual_.tensor.Rows(0, rows),
                                                 .accumulate = true}});
}

void DecoderLayers::FeedForward(int layer, int rows) {
  const LayerWeights& w = layers_[layer];
  const Tensor residual = residual_.tensor.Rows(0, rows);
  backend_.FeedForward({.x = {residual, w.ffn_norm.tensor, config_.norm_eps},
                        .gate = w.gate.get(),
                        .up = w.up.get(),
                        .down = w.down.get(),
                        .out = residual});
}

std::unique_ptr<Weight> WeightLoader::Matrix(const std::string& name, int64_t rows, int64_t cols) {
  if (!status_.ok()) return nullptr;
  auto weight = source_.Matrix(name, rows, cols);
  if (weight.ok()) return *std::move(weight);
  status_ = weight.error();
  return nullptr;
}

Buffer WeightLoader::Vector(const std::string& name, int64_t n) {
  if (!status_.ok()) return {};
  auto buffer = source_.Vector(name, n);
  if (buffer.ok()) return *std::move(buffer);
  status_ = buffer.error();
  return {};
}

LayerWeights WeightLoader::Layer(const ModelConfig& config, int index, bool attention_norm,
                                 int64_t attention_input) {
  const std::string prefix = "blk." + std::to_string(index) + ".";
  const int64_t hidden = config.hidden;
  const int64_t input = attention_input > 0 ? attention_input : hidden;
  const int64_t q_cols = int64_t{config.heads} * config.head_dim;
  const int64_t kv_cols = int64_t{config.kv_heads} * config.head_dim;
  LayerWeights w;
  if (attention_norm) w.attention_norm = Vector(prefix + "attn_norm.weight", hidden);
  w.q = Matrix(prefix + "attn_q.weight", q_cols, input);
  w.k = Matrix(prefix + "attn_k.weight", kv_cols, input);
  w.v = Matrix(prefix + "attn_v.weight", kv_cols, input);
  w.o = Matrix(prefix + "attn_output.weight", hidden, q_cols);
  if (config.attention_bias) {
    w.q_bias = Vector(prefix + "attn_q.bias", q_cols);
    w.k_bias = Vector(prefix + "attn_k.bias", kv_cols);
    w.v_bias = Vector(prefix + "attn_v.bias", kv_cols);
  }
  if (config.qk_norm) {
    w.q_norm = Vector(prefix + "attn_q_norm.weight", config.head_dim);
    w.k_norm = Vector(prefix + "attn_k_norm.weight", config.head_dim);
  }
  w.ffn_norm = Vector(prefix + "ffn_norm.weight", hidden);
  w.gate = Matrix(prefix + "ffn_gate.weight", config.ffn, hidden);
  w.up = Matrix(prefix + "ffn_up.weight", config.ffn, hidden);
  w.down = Matrix(prefix + "ffn_down.weight", hidden, config.ffn);
  return w;
}

}  // namespace foretoken
