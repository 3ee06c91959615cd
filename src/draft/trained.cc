#include "draft/trained.h"

#include <algorithm>

#include "base/hash.h"
#include "draft/open_draft.h"
#include "io/draft_keys.h"
#include "io/weights_hash.h"
#include "text/tokenizer.h"

namespace foretoken {

void TrainedOptions::Visit(OptionFields& fields) {
  fields.Text("draft", draft, "a file or a directory", "the draft; the same as --draft",
              {.fallback = "the one for the model in drafts/ beside it"});
  fields.Choice("target", any_target, {{"same", false}, {"any", true}},
                "models that the draft may be used with; any: also those with another name");
}

void CachedDraftOptions::Visit(OptionFields& fields) {
  VisitCacheType(fields, cache_type);
  tokens.Visit(fields);
  file.Visit(fields);
}

void VisitGamma(OptionFields& fields, int& gamma, bool& is_given) {
  fields.Int("gamma", gamma, 1, 1024,
             "tokens drafted ahead; if given, it also limits branching trees", {}, &is_given);
}

void VisitCacheType(OptionFields& fields, DType& type) {
  fields.Choice(
      "cache_type", type,
      {{"f16", DType::kF16}, {"f32", DType::kF32}, {"bf16", DType::kBF16}, {"q8_0", DType::kQ8_0}},
      "number format of the draft's keys and values");
}

Result<std::unique_ptr<DraftFile>> OpenTrained(const TrainedOptions& options,
                                               const DraftContext& context,
                                               std::initializer_list<std::string_view> methods,
                                               DraftTokenRule& tokens) {
  const std::string& path = options.draft;
  FT_ASSIGN_OR_RETURN(std::unique_ptr<DraftFile> file, OpenDraft(path));
  const DraftInfo& info = file->info();
  if (std::ranges::find(methods, info.method) == methods.end()) {
    return Error{path + ": " + DraftKey(kMethodKey) + " is '" + info.method + "', expected " +
                 std::string(*methods.begin()) + "; use --drafter " + info.method};
  }
  const TokenizerData no_tokenizer;
  const TokenizerData& tokenizer =
      context.tokenizer == nullptr ? no_tokenizer : context.tokenizer->data();
  const auto target = TargetFingerprint::Of(context.target.config(), tokenizer);
  FT_RETURN_IF_ERROR(CheckTarget(info, target, options.any_target, path));
  tokens.drafter = *methods.begin();
  FT_RETURN_IF_ERROR(FindRanking(context, *file, tokens));
  return file;
}

Error WrongKey(const std::string& path, const std::string& key, int found,
               const std::string& expected) {
  return Error{path + ": " + DraftKey(key) + " is " + std::to_string(found) + ", expected " +
               expected};
}

ModelConfig LayersOf(const DraftFile& file, const ModelConfig& target) {
  const ModelConfig& stored = file.config();
  if (stored.heads > 0) return stored;
  ModelConfig config = target;
  config.architecture = stored.architecture;
  config.vocab = stored.vocab;
  config.layers = stored.layers;
  config.hidden = stored.hidden;
  config.ffn = stored.ffn;
  config.attention_bias = stored.attention_bias;
  config.rope_interleaved = config.qk_norm = false;
  config.sliding_window = 0;
  return config;
}

std::string DraftIdentity(const ModelFile& file, std::string_view method, int columns) {
  return std::string(method) + "-" + HexDigits(SampleWeights(file)) + "-" + std::to_string(columns);
}

DraftPrior PriorOf(const DraftFile& file, size_t level_bytes, int columns) {
  return {level_bytes, file.info().acceptance, DraftIdentity(file, file.info().method, columns)};
}

}  // namespace foretoken
