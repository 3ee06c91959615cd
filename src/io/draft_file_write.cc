// Draft checkpoints: writing, and the check of their target.
#include <algorithm>

#include "base/check.h"
#include "io/draft_file.h"
#include "io/draft_keys.h"
#include "io/gguf.h"

namespace foretoken {
namespace {

void WriteTarget(const TargetFingerprint& target, GgufWriter& writer) {
  const std::string prefix = kDraftPrefix + ".target.";
  const auto set = [&](const char* key, int value) {
    writer.SetU32(prefix + key, static_cast<uint32_t>(value));
  };
  writer.SetString(prefix + "architecture", target.architecture);
  if (!target.name.empty()) writer.SetString(prefix + "name", target.name);
  set("vocab_size", target.vocab);
  set("embedding_length", target.hidden);
  set("block_count", target.layers);
  set("attention.head_count", target.heads);
  set("attention.head_count_kv", target.kv_heads);
  set("attention.key_length", target.head_dim);
  writer.SetU64(prefix + "vocabulary", target.vocabulary);
}

void WriteName(const std::string& name, GgufWriter& writer) {
  if (!name.empty()) writer.SetString("general.name", name);
}

void WriteRanking(const TokenRanking& ranking, int vocab, GgufWriter& writer) {
  if (ranking.empty()) return;
  const std::string key = kDraftPrefix + ".ranks";
  if (vocab <= 1 << 16) {
    writer.SetU16s(key, {ranking.tokens.begin(), ranking.tokens.end()});
  } else {
    writer.SetI32s(key, ranking.tokens);
  }
  writer.SetU32(key + "_step", static_cast<uint32_t>(ranking.step));
  writer.SetF32s(key + "_coverage", ranking.coverage);
}

void WriteAcceptance(const std::vector<float>& acceptance, GgufWriter& writer) {
  if (!acceptance.empty()) writer.SetF32s(kDraftPrefix + ".acceptance", acceptance);
}

void WriteInfo(const DraftInfo& info, GgufWriter& writer) {
  const auto set = [&](const std::string& key, int value) {
    if (value > 0) writer.SetU32(DraftKey(key), static_cast<uint32_t>(value));
  };
  writer.SetString("general.architecture", kDraftArchitecture);
  writer.SetString("general.type", "adapter");
  WriteName(info.name, writer);
  writer.SetString(DraftKey(kMethodKey), info.method);
  set("version", kDraftVersion);
  set(kHiddenKey, info.blocks.hidden);
  set(kVocabKey, info.blocks.vocab);
  set(kOutputHeadsKey, info.output_heads);
  set(kHeadLayersKey, info.head_layers);
  set(kBlockSizeKey, info.block_size);
  set(kNgramKey, info.ngram);
  if (info.blocks.layers > 0) WriteGeometry(info.blocks, kDraftPrefix, writer);
  if (!info.taps.empty()) writer.SetI32s(DraftKey(kTapsKey), info.taps);
  if (!info.kv_layers.empty()) writer.SetI32s(DraftKey(kKvLayersKey), info.kv_layers);
  if (!info.shared.empty()) writer.SetStrings(DraftKey(kSharedKey), info.shared);
  if (!info.recipe.empty()) writer.SetString(kDraftPrefix + ".recipe", info.recipe);
  WriteRanking(info.ranking, info.target.vocab, writer);
  WriteAcceptance(info.acceptance, writer);
  WriteTarget(info.target, writer);
}

}  // namespace

TargetFingerprint TargetFingerprint::Of(const ModelConfig& config, const TokenizerData& tokenizer) {
  return {.architecture = config.architecture == "mistral" ? "llama" : config.architecture,
          .name = config.name,
          .vocab = config.vocab,
          .hidden = config.hidden,
          .layers = config.layers,
          .heads = config.heads,
          .kv_heads = config.kv_heads,
          .head_dim = config.head_dim,
          .vocabulary = tokenizer.tokens.empty() ? 0 : VocabularyFingerprint(tokenizer)};
}

Status CheckTarget(const DraftInfo& info, const TargetFingerprint& target, bool any_name,
                   const std::string& path) {
  const TargetFingerprint& made_for = info.target;
  Status status;
  const auto compare = [&](const char* what, const std::string& own, const std::string& found) {
    if (!status.ok() || own == found) return;
    status = Error{path + ": this draft was made for another target: its " + what + " is " + own +
                   ", this model's " + found};
  };
  const auto sizes = [&](const char* what, int own, int found) {
    if (own != 0 && found != 0) compare(what, std::to_string(own), std::to_string(found));
  };
  if (!made_for.architecture.empty()) {
    compare("architecture", made_for.architecture, target.architecture);
  }
  sizes("hidden size", made_for.hidden, target.hidden);
  sizes("number of layers", made_for.layers, target.layers);
  sizes("number of heads", made_for.heads, target.heads);
  sizes("number of key/value heads", made_for.kv_heads, target.kv_heads);
  sizes("head dimension", made_for.head_dim, target.head_dim);
  sizes("vocabulary size", made_for.vocab, target.vocab);
  if (made_for.vocabulary != 0 && target.vocabulary != 0) {
    compare("vocabulary (hash)", std::to_string(made_for.vocabulary),
            std::to_string(target.vocabulary));
  }
  if (!any_name && !made_for.name.empty() && !target.name.empty()) {
    compare("name", "'" + made_for.name + "'", "'" + target.name + "'");
  }
  return status;
}

Status WriteDraft(const DraftInfo& info, std::span<const DraftTensor> tensors, FileType type,
                  ThreadPool& pool, const std::string& path) {
  std::vector<TensorSource> sources;
  sources.reserve(tensors.size());
  for (const DraftTensor& tensor : tensors) {
    const TensorSource& source = sources.emplace_back(
        TensorSource{tensor.name, DType::kF32, tensor.shape, std::as_bytes(tensor.values)});
    FT_CHECK(source.rows() * source.cols() == static_cast<int64_t>(tensor.values.size()));
  }
  GgufWriter writer;
  WriteInfo(info, writer);
  const std::vector<TensorPlan> plans = PlanTensors(sources, info.blocks, type);
  return WritePlanned(
      plans, type, pool, [](const TensorSource&) {}, writer, path, nullptr);
}

Status AnnotateDraft(const std::string& from, const DraftNotes& notes, const std::string& to) {
  FT_ASSIGN_OR_RETURN(const auto draft, DraftFile::Open(from));
  FT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(from));
  const int vocab = draft->info().target.vocab;
  FT_RETURN_IF_ERROR(CheckRanking(notes.ranking, vocab, from + ": the ranking for this draft"));
  FT_RETURN_IF_ERROR(CheckAcceptance(notes.acceptance, from + ": the acceptance of this draft"));
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) {
    // The writer has an alignment of its own.
    if (key != "general.alignment") writer.SetEncoded(key, file.FindEncoded(key));
  }
  WriteName(notes.name, writer);
  WriteRanking(notes.ranking, vocab, writer);
  WriteAcceptance(notes.acceptance, writer);
  for (const TensorSource& tensor : file.tensors()) {
    writer.AddTensor(tensor.name, tensor.type, tensor.shape, [&tensor](std::span<std::byte> out) {
      std::ranges::copy(tensor.bytes, out.begin());
    });
  }
  return writer.Write(to);
}

}  // namespace foretoken
