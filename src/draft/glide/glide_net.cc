#include "draft/glide/glide_net.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "draft/glide/glide_spec.h"
#include "draft/scratch.h"
#include "draft/trained.h"
#include "io/convert.h"
#include "io/draft_keys.h"
#include "model/model_config.h"

namespace foretoken {
namespace {

// The target layer (0-based) that each draft layer reads; empty if the draft has no
// cross-attention. `kv_layer`: as in GlideNet::Load.
Result<std::vector<int>> KvLayers(const DraftFile& file, const ModelConfig& target, int kv_layer) {
  const DraftInfo& info = file.info();
  const int layers = info.blocks.layers;
  const bool has_cross_attention =
      file.Has(GlideSpec().CrossQuery(0).name) || !info.kv_layers.empty();
  if (!has_cross_attention) {
    if (kv_layer == 0) return std::vector<int>();
    return Error{"drafter glide: option kv_layer is given, but " + file.path() +
                 " has no cross-attention"};
  }
  if (kv_layer == 0 && !info.kv_layers.empty()) {
    if (std::ssize(info.kv_layers) == layers && info.kv_layers.back() < target.layers) {
      return info.kv_layers;
    }
    return Error{file.path() + ": " + DraftKey(kKvLayersKey) + " lists " +
                 std::to_string(info.kv_layers.size()) + " layers up to " +
                 std::to_string(info.kv_layers.back()) + ", expected one of the target's " +
                 std::to_string(target.layers) + " for each of the draft's " +
                 std::to_string(layers)};
  }
  if (layers > target.layers) {
    return Error{file.path() + ": the draft has " + std::to_string(layers) +
                 " layers with cross-attention, expected at most one for each of the target's " +
                 std::to_string(target.layers)};
  }
  if (kv_layer == 0) kv_layer = target.layers;
  if (layers > kv_layer || kv_layer > target.layers) {
    return Error{file.path() + ": the last of the draft's " + std::to_string(layers) +
                 " layers would read layer " + std::to_string(kv_layer) +
                 " of the target, expected " + std::to_string(layers) + " to " +
                 std::to_string(target.layers)};
  }
  return GlideSpec::KvLayers(layers, kv_layer);
}

Status CheckVocabulary(const DraftFile& file, const ModelConfig& target) {
  if (file.config().vocab == target.vocab) return {};
  return WrongKey(file.path(), kVocabKey, file.config().vocab,
                  "the target's " + std::to_string(target.vocab));
}

GlideSpec SpecOf(const DraftFile& file, const ModelConfig& target) {
  return {file.config().hidden, target.vocab, int64_t{target.heads} * target.head_dim};
}

}  // namespace

// A file stores the rows of q for a rotation of the halves of a head. If the target rotates
// adjacent elements, the rows are reordered like the target's own rows of q, so that they match its
// cached keys.
Result<std::unique_ptr<Weight>> GlideNet::LoadQuery(const DraftFile& file, const TensorSpec& query,
                                                    Model& target, Weights& weights) {
  const ModelConfig& config = target.config();
  const int64_t rows = query.rows(), cols = query.cols();
  if (!config.rope_interleaved) return weights.source->Matrix(query.name, rows, cols);
  FT_ASSIGN_OR_RETURN(const TensorSource source, file.Find(query.name, std::array{rows, cols}));
  std::vector<std::byte>& moved = weights.rearranged.emplace_back(source.bytes.size());
  PermuteForInterleavedRope(source.bytes, RowBytes(source.type, cols), config.head_dim,
                            config.rope_dim, moved);
  auto loaded = target.backend().LoadWeight(source.type, rows, cols, moved.data());
  if (!loaded.ok()) return Error{file.path() + ": " + query.name + ": " + loaded.error().message};
  file.Release(source);
  if (!loaded->keeps_source) weights.rearranged.pop_back();
  return std::move(loaded->weight);
}

Status GlideNet::LoadCross(const DraftFile& file, WeightLoader& loader, Model& target,
                           Weights& weights) {
  const GlideSpec spec = SpecOf(file, target.config());
  for (int layer = 0; layer < file.config().layers; ++layer) {
    CrossWeights& cross = weights.cross.emplace_back();
    FT_ASSIGN_OR_RETURN(cross.q, LoadQuery(file, spec.CrossQuery(layer), target, weights));
    cross.o = LoadMatrix(loader, spec.CrossOutput(layer));
  }
  return {};
}

Result<std::unique_ptr<GlideNet>> GlideNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                 int kv_layer, const DraftTokenRule& rule) {
  const ModelConfig& config = file->config();
  FT_RETURN_IF_ERROR(CheckConfig(config, file->path()));
  FT_RETURN_IF_ERROR(CheckVocabulary(*file, target.config()));
  FT_ASSIGN_OR_RETURN(std::vector<int> kv_layers, KvLayers(*file, target.config(), kv_layer));
  const GlideSpec spec = SpecOf(*file, target.config());
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*weights.source);
  weights.embedding = LoadMatrix(loader, spec.Embedding());
  weights.norm = LoadVector(loader, spec.Norm());
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back(loader.Layer(config, layer));
  }
  if (!kv_layers.empty()) FT_RETURN_IF_ERROR(LoadCross(*file, loader, target, weights));
  FT_RETURN_IF_ERROR(loader.status());
  const HeadSpec scores{.names = {spec.Head().name}, .rows = spec.vocab, .cols = spec.hidden};
  FT_ASSIGN_OR_RETURN(DraftHead head,
                      DraftHead::Load(rule, scores, *file, *weights.source, target,
                                      BodyBytes(weights, WeightBytes(weights.layers))));
  return std::unique_ptr<GlideNet>(new GlideNet(std::move(file), std::move(weights),
                                                std::move(kv_layers), std::move(head), target));
}

// `layer_bytes`, the bytes of the layers, plus the bytes of their cross-attention.
size_t GlideNet::BodyBytes(const Weights& weights, size_t layer_bytes) {
  size_t bytes = layer_bytes;
  for (const CrossWeights& cross : weights.cross) bytes += cross.q->bytes() + cross.o->bytes();
  return bytes;
}

DraftPrior GlideNet::Prior() const {
  return PriorOf(*file_, BodyBytes(weights_, layers_.weight_bytes()) + head_.bytes(), head_.size());
}

GlideNet::GlideNet(std::unique_ptr<DraftFile> file, Weights weights, std::vector<int> kv_layers,
                   DraftHead head, Model& target)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      kv_layers_(std::move(kv_layers)),
      target_(target),
      layers_(file_->config(), std::move(weights_.layers), target.backend(), target.max_rows()),
      rope_(MakeRopeTable(target.config())),
      head_(std::move(head)) {}

// The rows whose logits are requested.
GlideNet::Rows GlideNet::RequestedRows(const RowBatch& batch) {
  Rows rows{{}, {0}};
  size_t next = 0;
  for (int s = 0; s < batch.sequences(); ++s) {
    for (; next < batch.logit_rows.size() && batch.logit_rows[next] < batch.begin[s + 1]; ++next) {
      rows.position.push_back(batch.position[batch.logit_rows[next]]);
    }
    rows.begin.push_back(rows.count());
  }
  return rows;
}

Result<Tensor> GlideNet::Forward(const RowBatch& batch, std::span<KvCache* const> caches,
                                 std::span<const Glimpse* const> glimpses) {
  FT_RETURN_IF_ERROR(layers_.Begin(batch, caches));
  const Tensor residual = layers_.residual();
  Rows rows{batch.position, batch.begin};
  backend().Embed(*weights_.embedding, batch.token, residual.Rows(0, rows.count()));
  for (int layer = 0; layer < config().layers; ++layer) {
    const bool is_last = layer + 1 == config().layers;
    // Without requested logits, the last layer only needs to compute keys and values.
    const bool only_kv = is_last && batch.logit_rows.empty();
    const Tensor q = only_kv ? Tensor{} : layers_.queries(batch.rows());
    layers_.Project(layer, q);
    if (only_kv) return Tensor{};
    layers_.Attend(layer, q);
    if (is_last) {
      rows = RequestedRows(batch);
      if (rows.count() < batch.rows()) {
        backend().Gather(residual, batch.logit_rows, residual.Rows(0, rows.count()));
      }
    }
    if (!kv_layers_.empty()) FT_RETURN_IF_ERROR(CrossAttend(layer, rows, glimpses));
    layers_.FeedForward(layer, rows.count());
  }
  return Logits(rows.count());
}

void GlideNet::FindVisibleRows(const Rows& rows, size_t sequence, int committed,
                               Visibility& out) const {
  FT_CHECK(committed > 0);
  const int begin = rows.begin[sequence], end = rows.begin[sequence + 1];
  out.run.clear();
  for (int r = begin; r < end; ++r) out.run.push_back(std::clamp(rows.position[r], 1, committed));
  out.begin.assign(out.run.size() + 1, 0);
}

// Adds cross-attention to the residual stream. Its input is the residual stream without a norm
// (G-1, G-2).
Status GlideNet::CrossAttend(int layer, const Rows& rows,
                             std::span<const Glimpse* const> glimpses) {
  const CrossWeights& w = weights_.cross[static_cast<size_t>(layer)];
  const int head_dim = target_.config().head_dim;
  const Tensor residual = layers_.residual().Rows(0, rows.count());
  FT_ASSIGN_OR_RETURN(const Tensor q, ReserveRows(backend(), rows.count(), w.q->rows(), q_));
  FT_ASSIGN_OR_RETURN(const Tensor attended,
                      ReserveRows(backend(), rows.count(), w.q->rows(), attended_));
  backend().Linear(residual, std::array{LinearOut{.weight = w.q.get(), .out = q}});
  backend().Rope(q, rows.position, head_dim, rope_);
  visible_.resize(std::max(visible_.size(), glimpses.size()));
  cross_sequences_.clear();
  for (size_t s = 0; s < glimpses.size(); ++s) {
    if (rows.begin[s] == rows.begin[s + 1]) continue;
    FindVisibleRows(rows, s, glimpses[s]->rows, visible_[s]);
    const Glimpse::Layer& cached = glimpses[s]->layers[static_cast<size_t>(layer)];
    cross_sequences_.push_back({cached.keys, cached.values, &visible_[s], rows.begin[s]});
  }
  backend().Attention({.q = q,
                       .out = attended,
                       .sequences = cross_sequences_,
                       .head_dim = head_dim,
                       .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))});
  backend().Linear(attended,
                   std::array{LinearOut{.weight = w.o.get(), .out = residual, .accumulate = true}});
  return {};
}

Result<Tensor> GlideNet::Logits(int rows) {
  return head_.Logits({layers_.residual().Rows(0, rows), weights_.norm.tensor, config().norm_eps});
}

}  // namespace foretoken
