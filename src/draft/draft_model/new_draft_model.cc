// Draft models from files.
#include "base/json.h"
#include "draft/draft_model/draft_model.h"
#include "draft/draft_model/vocabulary.h"
#include "draft/options.h"
#include "draft/trained.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

Result<LoadedDraft> LoadDraft(const std::string& path, const DraftContext& context) {
  LoadedDraft draft;
  FT_ASSIGN_OR_RETURN(draft.file, ModelFile::Open(path));
  if (context.tokenizer == nullptr)
    return Error{"drafter draft-model: the target has no tokenizer"};
  FT_RETURN_IF_ERROR(CheckSameVocabulary(context.tokenizer->data(), draft.file->tokenizer(), path));
  FT_ASSIGN_OR_RETURN(draft.model, LoadModel(*draft.file, context.target.backend(),
                                             {.max_rows = context.target.max_rows()}));
  return draft;
}

}  // namespace

Result<std::unique_ptr<Drafter>> NewDraftModel(const DraftContext& context) {
  DraftOptions options("draft-model", context.options);
  const std::string path = options.Text("draft_model", "");
  DraftModelRule rule;
  rule.gamma_given = context.options.contains("gamma");
  rule.gamma = options.Int("gamma", rule.gamma, 1, 1024);
  rule.heuristic = options.Choice("schedule", {"fixed", "heuristic"}) == 1;
  rule.cache_type = CacheTypeOption(options);
  FT_RETURN_IF_ERROR(options.Finish());
  FT_ASSIGN_OR_RETURN(LoadedDraft draft, LoadDraft(path, context));
  FT_RETURN_IF_ERROR(CheckCacheType(draft.model->config(), rule.cache_type));
  return std::unique_ptr<Drafter>(std::make_unique<DraftModel>(
      std::move(draft), context.target.config().vocab, context.capacity, rule));
}

}  // namespace foretoken
