#include "draft/chimera/chimera_net.h"

#include <array>

#include "draft/scratch.h"
#include "draft/trained.h"
#include "model/model_config.h"

namespace foretoken {
namespace {

Status CheckInfo(const DraftFile& file, const ModelConfig& layer, const ModelConfig& target) {
  const DraftInfo& info = file.info();
  FT_RETURN_IF_ERROR(CheckConfig(layer, file.path()));
  const auto expect = [&](bool holds, const char* key, int found, const std::string& expected) {
    if (holds) return Status();
    return Status(Error{file.path() + ": foretoken.draft." + key + " is " + std::to_string(found) +
                        ", expected " + expected});
  };
  FT_RETURN_IF_ERROR(expect(info.blocks.hidden == target.hidden, "embedding_length",
                            info.blocks.hidden, "the target's " + std::to_string(target.hidden)));
  FT_RETURN_IF_ERROR(expect(info.blocks.layers == 1, "block_count", info.blocks.layers, "1"));
  FT_RETURN_IF_ERROR(expect(info.output_heads > 0, "output_heads", info.output_heads, "1 to 64"));
  return expect(info.ngram > 0, "ngram", info.ngram, "1 to " + std::to_string(kMostNgram));
}

}  // namespace

Result<std::unique_ptr<ChimeraNet>> ChimeraNet::Load(std::unique_ptr<DraftFile> file, Model& target,
                                                     const NgramCacheRule& rule) {
  const DraftInfo& info = file->info();
  const ModelConfig layer = LayersOf(*file, target.config());
  FT_RETURN_IF_ERROR(CheckInfo(*file, layer, target.config()));
  const int64_t hidden = info.blocks.hidden, wide = info.ngram * hidden;
  const int64_t vocab = target.config().vocab;
  Weights weights;
  weights.source = NewFileWeights(*file, target.backend());
  WeightLoader loader(*weights.source);
  if (!info.Shares(kSharedEmbedding)) {
    weights.embedding = loader.Matrix("token_embd.weight", vocab, hidden);
  }
  weights.ngram = {info.ngram, LoadBlock(loader, "ngram.res", wide),
                   loader.Matrix("ngram.output.weight", hidden, wide)};
  weights.layer.push_back(loader.Layer(layer, 0));
  const bool shared = info.Shares(kSharedHead);
  for (int k = 0; k < info.output_heads; ++k) {
    const std::string prefix = "head." + std::to_string(k) + ".";
    weights.heads.push_back(shared ? loader.Matrix(prefix + "proj.weight", hidden, 2 * hidden)
                                   : loader.Matrix(prefix + "output.weight", vocab, 2 * hidden));
  }
  FT_RETURN_IF_ERROR(loader.status());
  std::unique_ptr<SpillFile> spill;
  if (!rule.spill.empty()) {
    FT_ASSIGN_OR_RETURN(spill, SpillFile::Create(rule.spill, info.blocks.hidden));
  }
  NgramCache cache(target.backend(), info.blocks.hidden, rule.entries, std::move(spill));
  return std::unique_ptr<ChimeraNet>(
      new ChimeraNet(std::move(file), layer, std::move(weights), target, std::move(cache)));
}

ChimeraNet::ChimeraNet(std::unique_ptr<DraftFile> file, const ModelConfig& layer, Weights weights,
                       Model& target, NgramCache cache)
    : file_(std::move(file)),
      weights_(std::move(weights)),
      target_(target),
      ngrams_(target.backend(), weights_.embedding ? *weights_.embedding : target.Embedding(),
              std::move(weights_.ngram), std::move(cache)),
      layer_(layer, std::move(weights_.layer), target.backend(), target.max_rows()),
      heads_(std::move(weights_.heads)) {}

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
  FT_ASSIGN_OR_RETURN(const Tensor logits, ReserveRows(backend(), rows, vocab(), logits_));
  const Weight& own = *heads_[static_cast<size_t>(head)];
  if (!file_->info().Shares(kSharedHead)) {
    backend().Linear(input, std::array{LinearOut{.weight = &own, .out = logits}});
    return logits;
  }
  FT_ASSIGN_OR_RETURN(const Tensor state, ReserveRows(backend(), rows, hidden(), state_));
  backend().Linear(input, std::array{LinearOut{.weight = &own, .out = state}});
  backend().Linear(state, std::array{LinearOut{.weight = &target_.OutputHead(), .out = logits}});
  return logits;
}

}  // namespace foretoken
