// Builds draft-model drafters from files.
#include <algorithm>

#include "base/json.h"
#include "draft/draft_model/draft_model.h"
#include "draft/draft_model/vocabulary.h"
#include "draft/options.h"
#include "draft/trained.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

// Bytes of the model's layers, which every drafting level reads.
size_t LayerBytes(const ModelFile& file) {
  size_t bytes = 0;
  for (const TensorSource& tensor : file.tensors()) {
    if (tensor.name.starts_with("blk.")) bytes += tensor.bytes.size();
  }
  return bytes;
}

// The acceptance rate expected of a draft with `share` of the target's bytes. A draft with a third
// of them reached 0.75 to 0.8 (Qwen2.5-Coder 0.5B and 1.5B, code edits, 16 to 64 tokens of
// context); smaller drafts are assumed to reach less.
float AcceptanceBySize(double share) {
  constexpr double kLeast = 0.5, kMost = 0.8, kLikeTarget = 0.3;
  const double likeness = std::min(share / kLikeTarget, 1.0);
  return static_cast<float>(kLeast + (kMost - kLeast) * likeness);
}

// The rows of the model's LM head that `rule` picks.
Result<DraftTokens> TokensOf(const DraftTokenRule& rule, const ModelFile& file,
                             const Model& target) {
  const ModelConfig& config = file.config();
  const LevelCost cost{.body_bytes = LayerBytes(file), .pass_bytes = target.weight_bytes()};
  const DType type = file.TypeOf(HeadName(config));
  return PickTokens(rule, cost, config.vocab, config.hidden, type, {}, target.config().vocab,
                    file.path());
}

struct DraftModelOptions {
  std::string draft_model;
  DraftModelRule rule;
  DraftTokenRule tokens{.drafter = "draft-model"};
  void Visit(OptionFields& fields) {
    fields.Text("draft_model", draft_model, "a model",
                "the model that it drafts with; the same as --draft-model",
                {.fallback = "one with the same vocabulary in drafts/ beside the model"});
    VisitGamma(fields, rule.gamma, rule.gamma_given);
    fields.Choice("schedule", rule.heuristic, {{"fixed", false}, {"heuristic", true}},
                  "how gamma changes; heuristic: + 2 after a draft that was fully accepted, - 1 "
                  "after any other");
    VisitCacheType(fields, rule.cache_type);
    tokens.Visit(fields);
  }
};

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
  draft.acceptance = AcceptanceBySize(static_cast<double>(draft.model->weight_bytes()) /
                                      static_cast<double>(context.target.weight_bytes()));
  return draft;
}

}  // namespace

OptionTable DescribeDraftModel() { return DescribeOptions<DraftModelOptions>(); }

Result<std::unique_ptr<Drafter>> NewDraftModel(const DraftContext& context) {
  DraftModelOptions options;
  FT_RETURN_IF_ERROR(ReadOptions("draft-model", context.options, options));
  FT_RETURN_IF_ERROR(FindRanking(context, {}, "", options.tokens));
  FT_ASSIGN_OR_RETURN(LoadedDraft draft, LoadDraft(options.draft_model, options.tokens, context));
  FT_RETURN_IF_ERROR(CheckCacheType(draft.model->config(), options.rule.cache_type));
  return std::unique_ptr<Drafter>(std::make_unique<DraftModel>(
      std::move(draft), context.target.config().vocab, context.capacity, options.rule));
}

}  // namespace foretoken
