#include "draft_export.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "base/json.h"
#include "data_ranking.h"
#include "io/safetensors.h"
#include "own_answers.h"

namespace foretoken::train {
namespace {

std::string TrainingRecord(const CheckpointInfo& info, const std::optional<OwnAnswers>& answers) {
  const RunState& s = info.state;
  Json json = RecipeRecord(info.recipe);
  json["trained"] = {
      {"steps", s.step}, {"tokens", s.tokens}, {"seconds", s.seconds}, {"heldout_loss", s.heldout}};
  if (!s.alpha.empty()) json["trained"]["teacher_forced_tau"] = AcceptanceLength(s.alpha);
  if (answers) {
    json["trained"]["tau"] = answers->tau;
    json["trained"]["tau_questions"] = answers->questions;
  }
  return JsonText(json);
}

ModelConfig Geometry(ModelConfig target, const ModelConfig& sizes) {
  target.rope_interleaved = target.attention_bias = target.qk_norm = false;
  target.rope_scaling = ModelConfig::RopeScaling::kNone;  // a draft's frequencies are unscaled
  target.rope_freq_factors.clear();
  target.sliding_window = 0;  // a draft attends to the whole context
  if (sizes.hidden == 0) return target;
  target.hidden = sizes.hidden;
  target.ffn = sizes.ffn;
  target.heads = sizes.heads;
  target.kv_heads = sizes.kv_heads;
  target.head_dim = sizes.head_dim;
  target.rope_dim = sizes.rope_dim;
  return target;
}

// Reads the token ranking for a draft. Errors: those of ReadRanking; a ranking of a vocabulary
// other than the target's.
Result<TokenRanking> RankingFor(const TargetFingerprint& target, const std::string& path) {
  FT_ASSIGN_OR_RETURN(RankingFile file, ReadRanking(path));
  file.ranking = file.ranking.First(kRankedInDraft);
  FT_RETURN_IF_ERROR(CheckRankingFor(file, target.vocab, target.vocabulary, path));
  return std::move(file.ranking);
}

}  // namespace

DraftInfo InfoOfHeads(const Recipe& recipe, std::vector<int> taps, int heads,
                      bool shares_embedding) {
  DraftInfo draft;
  draft.taps = std::move(taps);
  draft.output_heads = heads;
  if (shares_embedding) draft.shared.emplace_back(kSharedEmbedding);
  if (recipe.Number("shared_output") != 0.0) draft.shared.emplace_back(kSharedHead);
  return draft;
}

Status ExportDraft(const ExportRequest& request, const CheckpointInfo& info, DraftInfo draft,
                   int layers, const DraftName& name) {
  if (!request.path.ends_with(".gguf")) {
    return Error{request.path + ": a draft is exported as a .gguf file"};
  }
  const std::string path =
      request.target.empty() ? info.recipe.settings.at("target") : request.target;
  FT_ASSIGN_OR_RETURN(const auto target, ModelFile::Open(path));
  if (draft.method.empty()) draft.method = info.recipe.method;
  draft.name = info.recipe.name;
  draft.target = TargetFingerprint::Of(target->config(), target->tokenizer());
  const std::optional<OwnAnswers> answers = ReadOwnAnswers(request.checkpoint, info);
  draft.recipe = TrainingRecord(info, answers);
  draft.acceptance.assign(info.state.alpha.begin(), info.state.alpha.end());
  if (answers) draft.acceptance = answers->acceptance;
  std::error_code fault;
  const std::string ranks =
      request.ranks.empty() ? DataRankingPath(request.checkpoint) : request.ranks;
  if (!request.ranks.empty() || std::filesystem::exists(ranks, fault)) {
    FT_ASSIGN_OR_RETURN(draft.ranking, RankingFor(draft.target, ranks));
  }
  draft.blocks = Geometry(target->config(), draft.blocks);
  draft.blocks.layers = layers;
  FT_ASSIGN_OR_RETURN(const SafetensorsFile file,
                      SafetensorsFile::Open(CheckpointPath(request.checkpoint)));
  std::vector<DraftTensor> tensors;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!IsWeight(entry)) continue;
    const std::string name_in_draft = name(entry.name);
    if (name_in_draft.empty()) {
      return Error{file.path() + ": tensor '" + entry.name + "' has no place in a draft of " +
                   draft.method};
    }
    const auto* values = reinterpret_cast<const float*>(entry.bytes.data());
    tensors.push_back({name_in_draft, entry.shape, {values, entry.bytes.size() / sizeof(float)}});
  }
  FT_ASSIGN_OR_RETURN(const auto pool, ThreadPool::Create(0));
  return WriteDraft(draft, tensors, request.type, *pool, request.path);
}

}  // namespace foretoken::train
