#include "draft/edd/edd_net.h"

#include <algorithm>

#include "draft/edd/edd_spec.h"
#include "draft/scratch.h"
#include "draft/trained.h"
#include "io/draft_keys.h"
#include "model/model_config.h"

namespace foretoken {
namespace {

constexpr float kPublishedNormEps = 1e-6f;  // of the final norm of published drafts

Status CheckSizes(const DraftInfo& info, const ModelConfig& config, const ModelConfig& target,
                  const std::string& path) {
  FT_RETURN_IF_ERROR(CheckConfig(config, path));
  if (config.hidden != target.hidden || config.vocab != target.vocab) {
    return Error{path + ": " + DraftKey(kHiddenKey) + " is " + std::to_string(config.hidden) +
                 " and " + kVocabKey + " " + std::to_string(config.vocab) +
                 ", expected the target's " + std::to_string(target.hidden) + " and " +
                 std::to_string(target.vocab)};
  }
  if (info.taps.size() <= 1) return {};
  return Error{path + ": " + DraftKey(kTapsKey) + " holds " + std::to_string(info.taps.size()) +
               " hidden states, expected one, or none for a draft that reads tokens only"};
}

std::optional<int> TapOf(const DraftInfo& info, int layers) {
  if (info.taps.empty()) return {};
  return std::max(0, EddSpec::TapIndex(info.taps[0], layers));
}

}  // namespace

Result<std::unique_ptr<EddNet>> EddNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                             const DraftTokenRule& rule) {
  const DraftInfo& info = file->info();
  const ModelConfig config = LayersOf(*file, target.config());
  FT_RETURN_IF_ERROR(CheckSizes(info, config, target.config(), file->path()));
  const EddSpec spec{config.hidden, config.vocab};
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*weights.source);
  if (!info.Shares(kSharedEmbedding)) {
    weights.embedding = LoadMatrix(loader, spec.Embedding());
  }
  weights.norm = LoadVector(loader, spec.Norm());
  weights.norm_eps = info.blocks.heads > 0 ? config.norm_eps : kPublishedNormEps;
  weights.layers.reserve(static_cast<size_t>(config.layers));
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back(loader.Layer(config, layer));
  }
  FT_RETURN_IF_ERROR(loader.status());
  HeadSpec scores;
  if (!info.Shares(kSharedHead)) {
    scores = {.names = {spec.Head().name}, .rows = spec.vocab, .cols = spec.hidden};
  }
  FT_ASSIGN_OR_RETURN(DraftHead head, DraftHead::Load(rule, scores, *file, *weights.source, target,
                                                      WeightBytes(weights.layers)));
  return std::unique_ptr<EddNet>(
      new EddNet(std::move(file), config, std::move(weights), std::move(head), target));
}

EddNet::EddNet(std::unique_ptr<DraftFile> file, const ModelConfig& config, Weights weights,
               DraftHead head, Model& target)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      target_(target),
      tap_(TapOf(file_->info(), target.config().layers)),
      layers_(config, std::move(weights_.layers), target.backend(), target.max_rows()),
      head_(std::move(head)) {}

DraftPrior EddNet::Prior() const {
  return PriorOf(*file_, layers_.weight_bytes() + head_.bytes(), head_.size());
}

Result<Tensor> EddNet::Features(int rows) {
  return ReserveRows(backend(), rows, hidden(), features_);
}

void EddNet::Embed(const RowBatch& batch) {
  const Weight& table = weights_.embedding ? *weights_.embedding : target_.Embedding();
  backend().Embed(table, batch.token, layers_.residual().Rows(0, batch.rows()));
}

Result<Tensor> EddNet::Forward(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(layers_.Begin(batch, caches));
  if (tap_) {
    const int rows = batch.rows();
    backend().StoreRows(features_.tensor.Rows(0, rows), layers_.residual().Rows(0, rows));
  } else {
    Embed(batch);
  }
  const int last = layers_.config().layers - 1;
  for (int layer = 0; layer < last; ++layer) layers_.Run(layer);
  layers_.Project(last, /*queries=*/{});
  return Tensor{};
}

Result<Tensor> EddNet::Logits(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(layers_.Begin(batch, caches));
  Embed(batch);
  for (int layer = 0; layer < layers_.config().layers; ++layer) layers_.Run(layer);
  const int rows = batch.rows();
  return head_.Logits({layers_.residual().Rows(0, rows), weights_.norm.tensor, weights_.norm_eps});
}

}  // namespace foretoken
