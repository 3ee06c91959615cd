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
#include "io/model_limits.h"
#include "io/token_ranking.h"
#include "llama.h"
#include "method.h"
#include "scored_head.h"

namespace foretoken::train {

// The LM head of a draft's losses, [scored, hidden], and the target's for the same tokens.
struct LossHead {
  const Matrix& draft;
  const ScoredHead& target;
};

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
  // The tokens that the losses of drafts with the target's LM head score, ascending; empty: all.
  void Score(const std::vector<int64_t>& tokens) { scored_head_ = ScoredHead(head(), tokens); }
  // Returns what the losses of a draft with the LM head `output` compare: head_matrix() stands for
  // the scored tokens' rows, and a trained head for itself.
  LossHead LossHeadOf(const Matrix& output) const {
    if (output.masters.empty()) return {scored_head_.matrix(), scored_head_};
    return {output, whole_head_};
  }
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
               {file_->config().attention_bias, file_->config().qk_norm}),
        whole_head_(head(), {}),
        scored_head_(whole_head_) {}

  std::vector<torch::Tensor> Rows(const Batch& batch, const std::string& computation,
                                  const std::vector<RowForm>& forms, const RowsOf& compute);

  std::unique_ptr<ModelFile> file_;
  Llama model_;
  ScoredHead whole_head_, scored_head_;
  std::unique_ptr<EngineTarget> engine_;  // null: libtorch reads the documents
  std::unique_ptr<FeatureCache> cache_;
};

// The setting of every method that trains drafts.
inline constexpr Setting kTargetSetting = {"target", "", AnyText(), "the model to draft for",
                                           Change::kFree};

// The setting of methods whose losses may leave out rare tokens where they use the target's LM
// head.
inline constexpr char kScoredTokens[] = "scored_tokens";
inline constexpr Setting kScoredSetting = {
    kScoredTokens, "0", Whole(0, kMostVocab),
    "tokens that losses score, the most frequent ones of the data (0: all); a trained LM head "
    "scores all"};

struct DraftPreparation {
  Recipe recipe;  // with the target's shape
  Corpus corpus;
  std::shared_ptr<FrozenTarget> target;
};
// Opens the target, encodes the data with its tokenizer, writes the ranking of its tokens and has
// losses score those of kScoredSetting.
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
