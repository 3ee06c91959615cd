#include "draft/chimera/chimera_net.h"

#include <array>

#include "draft/chimera/chimera_spec.h"
#include "draft/scratch.h"
#include "draft/trained.h"
#include "io/draft_keys.h"
#include "model/model_config.h"

namespace foretoken {
namespace {

Status CheckInfo(const DraftFile& file, const ModelConfig& layer, const ModelConfig& target) {
  const DraftInfo& info = file.info();
  FT_RETURN_IF_ERROR(CheckConfig(layer, file.path()));
  const auto expect = [&](bool holds, const std::string& key, int found,
                          const std::string& expected) {
    return holds ? Status() : Status(WrongKey(file.path(), key, found, expected));
  };
  const auto up_to = [](int most) { return "1 to " + std::to_string(most); };
  FT_RETURN_IF_ERROR(expect(info.blocks.hidden == target.hidden, kHiddenKey, info.blocks.hidden,
                            "the target's " + std::to_string(target.hidden)));
  FT_RETURN_IF_ERROR(expect(info.blocks.layers == 1, kLayersKey, info.blocks.layers, "1"));
  FT_RETURN_IF_ERROR(
      expect(info.output_heads > 0, kOutputHeadsKey, info.output_heads, up_to(kMostOutputHeads)));
  return expect(info.ngram > 0, kNgramKey, info.ngram, up_to(kMostNgram));
}

}  // namespace

Result<std::unique_ptr<ChimeraNet>> ChimeraNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                     const NgramCacheRule& cache_rule,
                                                     const DraftTokenRule& rule) {
  const DraftInfo& info = file->info();
  const ModelConfig layer = LayersOf(*file, target.config());
  FT_RETURN_IF_ERROR(CheckInfo(*file, layer, target.config()));
  const ChimeraSpec spec{info.blocks.hidden, target.config().vocab, info.ngram};
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*weights.source);
  if (!info.Shares(kSharedEmbedding)) {
    weights.embedding = LoadMatrix(loader, spec.Embedding());
  }
  weights.ngram = {info.ngram, LoadBlock(loader, spec.NgramBlockWeight(), spec.NgramBlockBias()),
                   LoadMatrix(loader, spec.NgramOutput())};
  weights.layer.push_back(loader.Layer(layer, 0));
  const bool shared = info.Shares(kSharedHead);
  const TensorSpec matrix = spec.Output(0);
  HeadSpec head_spec{.rows = matrix.rows(), .cols = matrix.cols()};
  for (int k = 0; k < info.output_heads; ++k) {
    if (shared) {
      weights.projections.push_back(LoadMatrix(loader, spec.Projection(k)));
    } else {
      head_spec.names.push_back(spec.Output(k).name);
    }
  }
  FT_RETURN_IF_ERROR(loader.status());
  const size_t body = WeightBytes(weights.layer) + (shared ? weights.projections[0]->bytes() : 0);
  FT_ASSIGN_OR_RETURN(DraftHead output,
                      DraftHead::Load(rule, head_spec, *file, *weights.source, target, body));
  std::unique_ptr<SpillFile> spill;
  if (!cache_rule.spill.empty()) {
    FT_ASSIGN_OR_RETURN(spill, SpillFile::Create(cache_rule.spill, info.blocks.hidden));
  }
  NgramCache cache(target.backend(), info.blocks.hidden, cache_rule.entries, std::move(spill));
  return std::unique_ptr<ChimeraNet>(new ChimeraNet(std::move(file), layer, std::move(weights),
                                                    std::move(output), target, std::move(cache)));
}

ChimeraNet::ChimeraNet(std::unique_ptr<DraftFile> file, const ModelConfig& layer, Weights weights,
                       DraftHead output, Model& target, NgramCache cache)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      target_(target),
      ngrams_(target.backend(), weights_.embedding ? *weights_.embedding : target.Embedding(),
              std::move(weights_.ngram), std::move(cache)),
      layer_(layer, std::move(weights_.layer), target.backend(), target.max_rows()),
      projections_(std::move(weights_.projections)),
      output_(std::move(output)) {}

DraftPrior ChimeraNet::Prior() const {
  const size_t projection = projections_.empty() ? 0 : projections_[0]->bytes();
  return PriorOf(*file_, layer_.weight_bytes() + projection + output_.bytes(), output_.size());
}

Result<Tensor> ChimeraNet::Features(int rows) {
  return ReserveRows(backend(), rows, hidden(), input_);
}

Result<Tensor> ChimeraNet::Forward(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(layer_.Begin(batch, caches));
  const Tensor residual = layer_.residual().Rows(0, batch.rows());
  backend().StoreRows(input_.tensor.Rows(0, batch.rows()), residual);
  layer_.Run(0);
  return residual;
}

Status ChimeraNet::Remember(const RowBatch& batch, std::span<KvCache* const> caches) {
  FT_RETURN_IF_ERROR(layer_.Begin(batch, caches));
  backend().StoreRows(input_.tensor.Rows(0, batch.rows()), layer_.residual().Rows(0, batch.rows()));
  layer_.Project(0, {});
  return {};
}

Result<Tensor> ChimeraNet::HeadInput(int rows) {
  return ReserveRows(backend(), rows, int64_t{2} * hidden(), head_input_);
}

Result<Tensor> ChimeraNet::Logits(int head, int rows) {
  FT_ASSIGN_OR_RETURN(const Tensor input, HeadInput(rows));
  if (projections_.empty()) return output_.Logits(input, head);
  FT_ASSIGN_OR_RETURN(const Tensor state, ReserveRows(backend(), rows, hidden(), state_));
  const Weight* projection = projections_[static_cast<size_t>(head)].get();
  backend().Linear(input, std::array{LinearOut{.weight = projection, .out = state}});
  return output_.Logits(state);
}

}  // namespace foretoken
