#include "draft/trained.h"

#include <algorithm>

#include "base/hash.h"
#include "draft/open_draft.h"
#include "io/draft_keys.h"
#include "io/weights_hash.h"
#include "text/tokenizer.h"

namespace foretoken {

Result<std::unique_ptr<DraftFile>> OpenTrained(DraftOptions& options, const DraftContext& context,
                                               std::initializer_list<std::string_view> methods) {
  const std::string path = options.Text("draft", "");
  const bool any_name = options.Choice("target", {"same", "any"}) == 1;
  FT_RETURN_IF_ERROR(options.Finish());
  FT_ASSIGN_OR_RETURN(std::unique_ptr<DraftFile> file, OpenDraft(path));
  const DraftInfo& info = file->info();
  if (std::ranges::find(methods, info.method) == methods.end()) {
    return Error{path + ": " + DraftKey(kMethodKey) + " is '" + info.method + "', expected " +
                 std::string(*methods.begin()) + "; use --drafter " + info.method};
  }
  const TokenizerData none;
  const TokenizerData& tokenizer = context.tokenizer == nullptr ? none : context.tokenizer->data();
  const auto target = TargetFingerprint::Of(context.target.config(), tokenizer);
  FT_RETURN_IF_ERROR(CheckTarget(info, target, any_name, path));
  return file;
}

Error WrongKey(const std::string& path, const std::string& key, int found,
               const std::string& expected) {
  return Error{path + ": " + DraftKey(key) + " is " + std::to_string(found) + ", expected " +
               expected};
}

ModelConfig LayersOf(const DraftFile& file, const ModelConfig& target) {
  const ModelConfig& given = file.config();
  if (given.heads > 0) return given;
  ModelConfig config = target;
  config.architecture = given.architecture;
  config.vocab = given.vocab;
  config.layers = given.layers;
  config.hidden = given.hidden;
  config.ffn = given.ffn;
  config.attention_bias = given.attention_bias;
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

DType CacheTypeOption(DraftOptions& options) {
  static constexpr DType kTypes[] = {DType::kF16, DType::kF32, DType::kBF16, DType::kQ8_0};
  return kTypes[options.Choice("cache_type", {"f16", "f32", "bf16", "q8_0"})];
}

}  // namespace foretoken
