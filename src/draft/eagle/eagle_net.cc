#include "draft/eagle/eagle_net.h"

#include <array>

#include "draft/eagle/eagle_spec.h"
#include "draft/scratch.h"
#include "draft/trained.h"
#include "io/draft_keys.h"
#include "model/model_config.h"

namespace foretoken {

Result<std::unique_ptr<EagleNet>> EagleNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                 const DraftTokenRule& rule) {
  const ModelConfig& config = file->config();
  FT_RETURN_IF_ERROR(CheckConfig(config, file->path()));
  const int64_t hidden = target.config().hidden;
  if (config.hidden != hidden) {
    return WrongKey(file->path(), kHiddenKey, config.hidden,
                    "the target's " + std::to_string(hidden));
  }
  const EagleSpec spec{hidden, target.config().vocab};
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*weights.source);
  if (!file->info().Shares(kSharedEmbedding)) {
    weights.embedding = LoadMatrix(loader, spec.Embedding());
  }
  weights.fc = LoadMatrix(loader, spec.ProjectionWeight());
  const TensorSpec bias = spec.ProjectionBias();
  if (file->Has(bias.name)) weights.fc_bias = LoadVector(loader, bias);
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back(loader.Layer(config, layer, EagleSpec::HasAttentionNorm(layer)));
  }
  FT_RETURN_IF_ERROR(loader.status());
  HeadSpec head_spec;  // empty: the target's head
  const TensorSpec own_head = spec.Head();
  if (file->Has(own_head.name)) {
    head_spec = {.names = {own_head.name}, .rows = own_head.rows(), .cols = own_head.cols()};
  }
  FT_ASSIGN_OR_RETURN(DraftHead head,
                      DraftHead::Load(rule, head_spec, *file, *weights.source, target,
                                      weights.fc->bytes() + WeightBytes(weights.layers)));
  return std::unique_ptr<EagleNet>(
      new EagleNet(std::move(file), std::move(weights), std::move(head), target));
}

EagleNet::EagleNet(std::unique_ptr<DraftFile> file, Weights weights, DraftHead head, Model& target)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      target_(target),
      layers_(file_->config(), std::move(weights_.layers), target.backend(), target.max_rows()),
      head_(std::move(head)) {}

DraftPrior EagleNet::Prior() const {
  return PriorOf(*file_, weights_.fc->bytes() + layers_.weight_bytes() + head_.bytes(),
                 head_.size());
}

Result<Tensor> EagleNet::Features(int rows) {
  FT_ASSIGN_OR_RETURN(const Tensor input,
                      ReserveRows(backend(), rows, int64_t{2} * hidden(), input_));
  return input.Cols(hidden(), hidden());
}

Result<Tensor> EagleNet::Forward(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(BeginPass(batch, caches));
  for (int layer = 0; layer < layers_.config().layers; ++layer) layers_.Run(layer);
  return layers_.residual().Rows(0, batch.rows());
}

Result<Tensor> EagleNet::ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(BeginPass(batch, caches));
  const int last = layers_.config().layers - 1;
  for (int layer = 0; layer < last; ++layer) layers_.Run(layer);
  return layers_.RunForLast(last);
}

// Begins a pass and fills the residual stream.
Status EagleNet::BeginPass(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(layers_.Begin(batch, caches));
  const int rows = batch.rows();
  const Tensor input = input_.tensor.Rows(0, rows);
  const Weight& embedding = weights_.embedding ? *weights_.embedding : target_.Embedding();
  backend().Embed(embedding, batch.token, input.Cols(0, hidden()));
  backend().Linear(input, std::array{LinearOut{.weight = weights_.fc.get(),
                                               .out = layers_.residual().Rows(0, rows),
                                               .bias = weights_.fc_bias.tensor}});
  return {};
}

Result<Tensor> EagleNet::Logits(Tensor outputs) { return head_.Logits(outputs); }

}  // namespace foretoken
