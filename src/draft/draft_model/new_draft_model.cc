// Draft models from files.
#include <algorithm>

#include "base/json.h"
#include "draft/draft_model/draft_model.h"
#include "draft/draft_model/vocabulary.h"
#include "draft/options.h"
#include "draft/trained.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

// Bytes of the file's layers, which every step reads.
size_t LayerBytes(const ModelFile& file) {
  size_t bytes = 0;
  for (const TensorSource& tensor : file.tensors()) {
    if (tensor.name.starts_with("blk.")) bytes += tensor.bytes.size();
  }
  return bytes;
}

// What the rule picks of the model's LM head.
Result<DraftTokens> TokensOf(const DraftTokenRule& rule, const ModelFile& file,
                             const Model& target) {
  const ModelConfig& config = file.config();
  const LevelCost cost{.body_bytes = LayerBytes(file), .pass_bytes = target.weight_bytes()};
  const DType type = file.TypeOf(HeadName(config));
  return PickTokens(rule, cost, config.vocab, config.hidden, type, {}, target.config().vocab,
                    file.path());
}

Result<LoadedDraft> LoadDraft(const std::string& path, const DraftTokenRule& rule,
                              const DraftContext& context) {
  LoadedDraft draft;
  FT_ASSIGN_OR_RETURN(draft.file, ModelFile::Open(path));
  if (context.tokenizer == nullptr)
    return Error{"drafter draft-model: the target has no tokenizer"};
  FT_RETURN_IF_ERROR(CheckSameVocabulary(context.tokenizer->data(), draft.file->tokenizer(), path));
  FT_ASSIGN_OR_RETURN(draft.tokens, TokensOf(rule, *draft.file, context.target));
  FT_ASSIGN_OR_RETURN(draft.model, LoadModel(*draft.file, context.target.backend(),
                                             {.max_rows = context.target.max_rows(),
                                              .head_tokens = draft.tokens.rows,
                                              .head_type = draft.tokens.type}));
  return draft;
}

}  // namespace

Result<std::unique_ptr<Drafter>> NewDraftModel(const DraftContext& context) {
  DraftOptions options("draft-model", context.options);
  const std::string path = options.Text("draft_model", "");
  DraftModelRule how;
  how.gamma_given = context.options.contains("gamma");
  how.gamma = options.Int("gamma", how.gamma, 1, 1024);
  how.heuristic = options.Choice("schedule", {"fixed", "heuristic"}) == 1;
  how.cache_type = CacheTypeOption(options);
  DraftTokenRule rule = AskTokenRule(options, "draft-model");
  FT_RETURN_IF_ERROR(options.Finish());
  FT_RETURN_IF_ERROR(FindRanking(context, {}, "", rule));
  FT_ASSIGN_OR_RETURN(LoadedDraft draft, LoadDraft(path, rule, context));
  FT_RETURN_IF_ERROR(CheckCacheType(draft.model->config(), how.cache_type));
  return std::unique_ptr<Drafter>(std::make_unique<DraftModel>(
      std::move(draft), context.target.config().vocab, context.capacity, how));
}

}  // namespace foretoken
