#include "draft/hydra/hydra_net.h"

#include <array>

#include "draft/hydra/hydra_spec.h"
#include "draft/scratch.h"
#include "draft/trained.h"
#include "io/draft_keys.h"
#include "model/model_config.h"

namespace foretoken {

HydraNet::Head HydraNet::LoadHead(WeightLoader& loader, const DraftFile& file,
                                  const ModelConfig& target, int index) {
  const HydraSpec spec{target.hidden, target.vocab};
  Head head;
  head.fc = LoadMatrix(loader, spec.FirstWeight(index));
  head.fc_bias = LoadVector(loader, spec.FirstBias(index));
  head.skip = LoadMatrix(loader, spec.SkipWeight(index));
  head.skip_bias = LoadVector(loader, spec.SkipBias(index));
  for (int j = 1; j < file.info().head_layers; ++j) {
    head.blocks.push_back(LoadBlock(loader, spec.BlockWeight(index, j), spec.BlockBias(index, j)));
  }
  return head;
}

// The heads' own output matrices, with biases if they have any; none if the target's LM head is
// shared.
HeadSpec HydraNet::SpecOf(WeightLoader& loader, const DraftFile& file, const ModelConfig& target) {
  const HydraSpec spec{target.hidden, target.vocab};
  HeadSpec scores{.rows = spec.vocab, .cols = spec.hidden};
  if (file.info().Shares(kSharedHead)) return scores;
  for (int k = 0; k < file.info().output_heads; ++k) {
    scores.names.push_back(spec.Output(k).name);
    const TensorSpec bias = spec.OutputBias(k);
    scores.biases.push_back(file.Has(bias.name) ? LoadVector(loader, bias) : Buffer());
  }
  return scores;
}

Result<std::unique_ptr<HydraNet>> HydraNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                 const DraftTokenRule& rule) {
  const DraftInfo& info = file->info();
  const ModelConfig config = LayersOf(*file, target.config());
  FT_RETURN_IF_ERROR(CheckConfig(config, file->path()));
  if (config.hidden != target.config().hidden || info.output_heads < 1) {
    return Error{file->path() + ": " + DraftKey(kHiddenKey) + " is " +
                 std::to_string(config.hidden) + " and " + kOutputHeadsKey + " " +
                 std::to_string(info.output_heads) + ", expected the target's " +
                 std::to_string(target.config().hidden) + " and 1 to " +
                 std::to_string(kMostOutputHeads)};
  }
  const HydraSpec spec{config.hidden, target.config().vocab};
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*weights.source);
  if (!info.Shares(kSharedEmbedding)) {
    weights.embedding = LoadMatrix(loader, spec.Embedding());
  }
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.prefix.push_back(loader.Layer(config, layer));
  }
  weights.norm = LoadVector(loader, spec.Norm());
  for (int k = 0; k < info.output_heads; ++k) {
    weights.heads.push_back(LoadHead(loader, *file, target.config(), k));
  }
  const HeadSpec scores = SpecOf(loader, *file, target.config());
  FT_RETURN_IF_ERROR(loader.status());
  FT_ASSIGN_OR_RETURN(DraftHead output, DraftHead::Load(rule, scores, *file, *weights.source,
                                                        target, weights.heads[0].bytes()));
  return std::unique_ptr<HydraNet>(
      new HydraNet(std::move(file), config, std::move(weights), std::move(output), target));
}

HydraNet::HydraNet(std::unique_ptr<DraftFile> file, const ModelConfig& config, Weights weights,
                   DraftHead output, Model& target)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      target_(target),
      prefix_(config, std::move(weights_.prefix), target.backend(), target.max_rows()),
      heads_(std::move(weights_.heads)),
      output_(std::move(output)),
      blocks_(target.backend(), target.config().hidden) {}

DraftPrior HydraNet::Prior() const {
  return PriorOf(*file_, heads_[0].bytes() + output_.bytes(), output_.size());
}

Result<Tensor> HydraNet::Features(int rows) {
  return ReserveRows(backend(), rows, hidden(), features_);
}

Result<Tensor> HydraNet::Forward(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(prefix_.Begin(batch, caches));
  const Tensor residual = prefix_.residual().Rows(0, batch.rows());
  backend().StoreRows(features_.tensor.Rows(0, batch.rows()), residual);
  for (int layer = 0; layer < prefix_.config().layers; ++layer) prefix_.Run(layer);
  return Normed(residual);
}

Result<Tensor> HydraNet::ForwardForLast(const RowBatch& batch, std::span<KvCache* const> caches) {
  const int last = prefix_.config().layers - 1;
  if (last < 0) return FeatureNet::ForwardForLast(batch, caches);
  FT_RETURN_IF_ERROR(prefix_.Begin(batch, caches));
  backend().StoreRows(features_.tensor.Rows(0, batch.rows()),
                      prefix_.residual().Rows(0, batch.rows()));
  for (int layer = 0; layer < last; ++layer) prefix_.Run(layer);
  return Normed(prefix_.RunForLast(last));
}

Result<Tensor> HydraNet::Normed(Tensor residual) {
  FT_ASSIGN_OR_RETURN(const Tensor outputs,
                      ReserveRows(backend(), static_cast<int>(residual.rows), hidden(), outputs_));
  backend().RmsNorm(residual, weights_.norm.tensor, prefix_.config().norm_eps, outputs);
  return outputs;
}

Result<Tensor> HydraNet::Input(int head, int rows) {
  return ReserveRows(backend(), rows, int64_t{head + 2} * hidden(), input_);
}

Result<Tensor> HydraNet::Logits(int head, std::span<const std::vector<Token>> tokens) {
  const int rows = static_cast<int>(tokens[0].size());
  FT_ASSIGN_OR_RETURN(const Tensor input, Input(head, rows));
  const Weight& table = weights_.embedding ? *weights_.embedding : target_.Embedding();
  for (size_t i = 0; i < tokens.size(); ++i) {
    backend().Embed(table, tokens[i], input.Cols(static_cast<int64_t>(i + 1) * hidden(), hidden()));
  }
  const Head& weights = heads_[static_cast<size_t>(head)];
  FT_ASSIGN_OR_RETURN(const Tensor state, ReserveRows(backend(), rows, hidden(), state_));
  FT_ASSIGN_OR_RETURN(const Tensor gate, ReserveRows(backend(), rows, hidden(), gate_));
  backend().Linear(
      input,
      std::array{
          LinearOut{.weight = weights.skip.get(), .out = state, .bias = weights.skip_bias.tensor},
          LinearOut{.weight = weights.fc.get(), .out = gate, .bias = weights.fc_bias.tensor}});
  FT_RETURN_IF_ERROR(blocks_.Silu(gate));
  backend().Add(gate, state);
  for (const ResidualBlock& block : weights.blocks) FT_RETURN_IF_ERROR(blocks_.Apply(block, state));
  return output_.Logits(state, head);
}

}  // namespace foretoken
