// The frozen target of a drafter. It runs inside the trainer, so no dump of hidden states is
// needed. An optional cache stores its results for later epochs.
#pragma once

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "corpus.h"
#include "engine_target.h"
#include "feature_cache.h"
#include "io/model_file.h"
#include "io/token_ranking.h"
#include "llama.h"
#include "method.h"

namespace foretoken::train {

class FrozenTarget {
 public:
  // Opens a GGUF file of any type or a Hugging Face directory. Quantised weights are dequantised,
  // so a draft is trained on the weights it will be used with. Errors: a file that cannot be read,
  // a missing tensor, weights that are not finite.
  static Result<std::unique_ptr<FrozenTarget>> Open(const std::string& path,
                                                    torch::ScalarType compute,
                                                    torch::Device device);

  // Makes Features and KeysValues cache their results in the file at `path` (feature_file.h), up to
  // `limit` bytes. The rest: as in FeatureCache. Errors: those of FeatureFile::Open; a
  // thread that cannot be started.
  Status UseCache(const std::string& path, uint64_t limit, bool report, int reader_threads = 0,
                  bool reads_ahead = false);
  const FeatureCache* cache() const { return cache_.get(); }  // null without UseCache
  // What has been read of documents; nothing without a cache.
  TargetReading reading() const { return cache_ ? cache_->reading() : TargetReading(); }

  const ModelFile& file() const { return *file_; }
  const LlamaShape& shape() const { return model_.shape(); }
  const Llama& model() const { return model_; }
  // Returns Llama::Features and fills `tap` unless it is null. Where the batch says what the target
  // reads, rows of a piece are those of its document. With a cache, rows of padding are zeros.
  torch::Tensor Features(const Batch& batch, HiddenState* tap = nullptr);
  const torch::Tensor& embedding() const { return model_.embedding(); }  // [vocab, hidden] f32
  // Llama::KeysValues, otherwise as Features.
  std::vector<torch::Tensor> KeysValues(const Batch& batch, std::span<const int> layers);
  // Returns the embeddings of `ids`, [rows, hidden] in the compute type.
  torch::Tensor Embeddings(const torch::Tensor& ids) const;
  const Matrix& head_matrix() const { return model_.head(); }
  const torch::Tensor& head() const { return model_.head().compute; }  // [vocab, hidden]
  // Returns a weight of the target's last layer, f32. `name`: for example "mlp.up_proj.weight".
  // Throws if there is no such weight of this shape.
  torch::Tensor LastLayer(const std::string& name, const std::vector<int64_t>& shape) const;
  // Floating-point operations of Features, KeysValues and the LM head, whether or not the cache
  // spares them.
  double FeatureFlops(int64_t rows, int64_t length) const;
  double KeysValuesFlops(int64_t rows, int64_t length, std::span<const int> layers) const {
    return model_.KeysValuesFlops(rows, length, layers);
  }
  double HeadFlops(int64_t rows) const { return model_.HeadFlops(rows); }

 private:
  FrozenTarget(std::unique_ptr<ModelFile> file, const LlamaShape& shape, WeightOptions options)
      : file_(std::move(file)),
        model_(shape, std::move(options),
               {file_->config().attention_bias, file_->config().qk_norm}) {}

  std::vector<torch::Tensor> Rows(const Batch& batch, const std::string& computation,
                                  const std::vector<RowForm>& forms, const RowsOf& compute);

  std::unique_ptr<ModelFile> file_;
  Llama model_;
  std::unique_ptr<EngineTarget> engine_;  // null: libtorch reads the documents
  std::unique_ptr<FeatureCache> cache_;
};

// The setting of every method that trains drafts.
inline constexpr Setting kTargetSetting = {"target", "", AnyText(), "the model to draft for",
                                           Change::kFree};

struct DraftPreparation {
  Recipe recipe;  // with the target's shape
  Corpus corpus;
  TokenRanking ranking;  // RankData of the corpus
  std::shared_ptr<FrozenTarget> target;
};
// Opens the target, encodes the data with its tokenizer and writes the ranking of its tokens.
// Errors: a target that cannot be used; those of PrepareData.
Result<DraftPreparation> PrepareDraft(const TrainOptions& options, torch::Device device);
// Moves recipe and corpus of a prepared draft to the inputs of its training, which lack the task.
Prepared StartOf(DraftPreparation& draft);
// Constructs the task DraftTask(recipe, target, device) of a prepared draft.
template <typename DraftTask>
Prepared WithTask(DraftPreparation draft, torch::Device device) {
  Prepared prepared = StartOf(draft);
  prepared.task = std::make_unique<DraftTask>(prepared.recipe, std::move(draft.target), device);
  return prepared;
}
// Method::prepare for drafters whose task is constructed as in WithTask.
template <typename DraftTask>
Result<Prepared> PrepareTask(const TrainOptions& options, torch::Device device) {
  FT_ASSIGN_OR_RETURN(DraftPreparation draft, PrepareDraft(options, device));
  return WithTask<DraftTask>(std::move(draft), device);
}

}  // namespace foretoken::train
