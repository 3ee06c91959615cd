#include "io/draft_file.h"

#include <algorithm>
#include <array>

#include "io/draft_keys.h"
#include "io/gguf.h"
#include "io/gguf_keys.h"
#include "io/model_limits.h"

namespace foretoken {
namespace {

constexpr std::array kParts = {kSharedEmbedding, kSharedHead, kSharedNorm};

// A list of distinct ascending integers in [0, most]; empty if the key is missing.
Result<std::vector<int>> Indices(const GgufFile& file, const std::string& key, int64_t most) {
  std::vector<int> indices;
  if (file.FindValue(key) == nullptr) return indices;
  FT_ASSIGN_OR_RETURN(const auto items, file.Ints(key));
  indices.reserve(items.size());
  for (const int64_t item : items) {
    const int64_t least = indices.empty() ? 0 : indices.back() + 1;
    if (item < least || item > most) {
      return Error{file.path() + ": metadata key '" + key + "' holds " + std::to_string(item) +
                   ", expected ascending numbers from 0 to " + std::to_string(most)};
    }
    indices.push_back(static_cast<int>(item));
  }
  return indices;
}

Result<std::vector<std::string>> SharedParts(const GgufFile& file) {
  const std::string key = DraftKey(kSharedKey);
  std::vector<std::string> parts;
  if (file.FindValue(key) == nullptr) return parts;
  FT_ASSIGN_OR_RETURN(const auto items, file.Strings(key));
  for (const std::string_view item : items) {
    if (std::ranges::find(kParts, item) == kParts.end()) {
      return Error{file.path() + ": metadata key '" + key + "' names '" + std::string(item) +
                   "', expected token_embd, output or output_norm"};
    }
    parts.emplace_back(item);
  }
  for (const TensorSource& tensor : file.tensors()) {
    for (const std::string& part : parts) {
      if (tensor.name != part + ".weight") continue;
      return Error{file.path() + ": tensor '" + tensor.name + "' is there, but '" + key +
                   "' says that it is the target's"};
    }
  }
  return parts;
}

TargetFingerprint ReadTarget(const GgufFile& file, GgufKeys& keys) {
  TargetFingerprint target;
  target.architecture = keys.Text("architecture", "");
  target.name = keys.Text("name", "");
  target.vocab = keys.Required("vocab_size", kMostVocab);
  target.hidden = keys.Required("embedding_length", kMostHidden);
  target.layers = keys.Required("block_count", kMostLayers);
  target.heads = keys.Required("attention.head_count", kMostHeads);
  target.kv_heads = keys.Required("attention.head_count_kv", kMostHeads);
  target.head_dim = keys.Required("attention.key_length", kMostHeadDim);
  if (const GgufValue* hash = file.FindValue(kDraftPrefix + ".target.vocabulary")) {
    const auto* number = std::get_if<uint64_t>(hash);
    if (number == nullptr) keys.Refuse("vocabulary", "is of another type, expected a u64");
    target.vocabulary = number == nullptr ? 0 : *number;
  }
  return target;
}

Status ReadLists(const GgufFile& file, DraftInfo& info) {
  const int layers = info.target.layers;
  FT_ASSIGN_OR_RETURN(info.taps, Indices(file, DraftKey(kTapsKey), layers));
  FT_ASSIGN_OR_RETURN(info.kv_layers, Indices(file, DraftKey(kKvLayersKey), layers - 1));
  FT_ASSIGN_OR_RETURN(info.shared, SharedParts(file));
  return {};
}

constexpr int64_t kMostRankStep = 1 << 20, kMostDepth = 1 << 10;

// A list of shares in [0, 1]; empty if the key is missing.
Result<std::vector<float>> Shares(const GgufFile& file, const std::string& key) {
  std::vector<float> shares;
  if (file.FindValue(key) == nullptr) return shares;
  FT_ASSIGN_OR_RETURN(const auto items, file.Numbers(key));
  shares.reserve(items.size());
  for (const double item : items) {
    if (!(item >= 0 && item <= 1)) {  // also refuses NaN
      return Error{file.path() + ": metadata key '" + key + "' holds " + std::to_string(item) +
                   ", expected shares from 0 to 1"};
    }
    shares.push_back(static_cast<float>(item));
  }
  return shares;
}

Status ReadRanks(const GgufFile& file, GgufKeys& keys, DraftInfo& info) {
  const std::string key = kDraftPrefix + ".ranks";
  if (file.FindValue(key) == nullptr) return {};
  FT_ASSIGN_OR_RETURN(const auto items, file.Ints(key));
  TokenRanking& ranking = info.ranking;
  ranking.step = keys.Optional("ranks_step", 1, kMostRankStep, ranking.step);
  FT_RETURN_IF_ERROR(keys.status());
  FT_ASSIGN_OR_RETURN(ranking.coverage, Shares(file, key + "_coverage"));
  ranking.tokens.reserve(items.size());
  for (const int64_t item : items) {
    // Values that do not fit a Token are clamped to ids that CheckRanking refuses.
    ranking.tokens.push_back(static_cast<Token>(std::clamp<int64_t>(item, -1, kMostVocab)));
  }
  return CheckRanking(ranking, info.target.vocab, file.path() + ": metadata key '" + key + "'");
}

Status ReadAcceptance(const GgufFile& file, DraftInfo& info) {
  const std::string key = kDraftPrefix + ".acceptance";
  FT_ASSIGN_OR_RETURN(info.acceptance, Shares(file, key));
  return CheckAcceptance(info.acceptance, file.path() + ": metadata key '" + key + "'");
}

class GgufDraft final : public DraftFile {
 public:
  static Result<std::unique_ptr<DraftFile>> Open(const std::string& path) {
    auto draft = std::make_unique<GgufDraft>();
    FT_ASSIGN_OR_RETURN(draft->file_, GgufFile::Open(path));
    FT_ASSIGN_OR_RETURN(draft->info_, ReadDraftInfo(draft->file_));
    ModelConfig& blocks = draft->info_.blocks;
    blocks.architecture = kDraftArchitecture;
    blocks.name = draft->info_.name;
    blocks.attention_bias = draft->Has("blk.0.attn_q.bias");
    return std::unique_ptr<DraftFile>(std::move(draft));
  }

  const std::string& path() const override { return file_.path(); }
  uint64_t file_bytes() const override { return file_.size(); }
  const ModelConfig& config() const override { return info_.blocks; }
  const TokenizerData& tokenizer() const override { return tokenizer_; }
  const GenerationDefaults& generation() const override { return generation_; }
  std::span<const TensorSource> tensors() const override { return file_.tensors(); }
  void Release(const TensorSource& tensor) const override { file_.Release(tensor); }
  const DraftInfo& info() const override { return info_; }

 private:
  GgufFile file_;
  DraftInfo info_;
  TokenizerData tokenizer_;
  GenerationDefaults generation_;
};

}  // namespace

double AcceptanceLength(std::span<const double> acceptance) {
  double length = 1.0, reached = 1.0;
  for (const double share : acceptance) length += reached *= share;
  return length;
}

Status CheckAcceptance(std::span<const float> acceptance, const std::string& label) {
  for (const float share : acceptance) {
    if (share >= 0 && share <= 1) continue;  // also refuses NaN
    return Error{label + " holds " + std::to_string(share) + ", expected shares from 0 to 1"};
  }
  if (std::ssize(acceptance) <= kMostDepth) return {};
  return Error{label + " holds " + std::to_string(acceptance.size()) +
               " depths, expected at most " + std::to_string(kMostDepth)};
}

Result<DraftInfo> ReadDraftInfo(const GgufFile& file) {
  FT_ASSIGN_OR_RETURN(const std::string architecture, file.String("general.architecture"));
  if (architecture != kDraftArchitecture) {
    return Error{file.path() + ": general.architecture is '" + architecture + "', expected " +
                 std::string(kDraftArchitecture) + ": a draft that was trained for the target"};
  }
  DraftInfo info;
  GgufKeys keys(file, kDraftPrefix), target(file, kDraftPrefix + ".target");
  if (const int version = keys.Required("version", 1 << 20); version != kDraftVersion) {
    keys.Refuse("version",
                "is " + std::to_string(version) + ", expected " + std::to_string(kDraftVersion));
  }
  FT_ASSIGN_OR_RETURN(info.name, file.StringOr("general.name", ""));
  FT_ASSIGN_OR_RETURN(info.method, file.String(DraftKey(kMethodKey)));
  info.target = ReadTarget(file, target);
  info.recipe = keys.Text("recipe", "");
  info.output_heads = keys.Optional(kOutputHeadsKey, 0, kMostOutputHeads, 0);
  info.head_layers = keys.Optional(kHeadLayersKey, 0, kMostHeadLayers, 0);
  info.block_size = keys.Optional(kBlockSizeKey, 0, kMostBlockSize, 0);
  info.ngram = keys.Optional(kNgramKey, 0, kMostNgram, 0);
  ModelConfig& blocks = info.blocks;
  blocks.hidden = keys.Required(kHiddenKey, kMostHidden);
  blocks.layers = keys.Optional(kLayersKey, 0, kMostLayers, 0);
  blocks.vocab = keys.Optional(kVocabKey, 1, kMostVocab, info.target.vocab);
  FT_RETURN_IF_ERROR(keys.status());
  FT_RETURN_IF_ERROR(target.status());
  if (blocks.layers > 0) FT_RETURN_IF_ERROR(ReadGeometry(file, kDraftPrefix, blocks));
  FT_RETURN_IF_ERROR(ReadLists(file, info));
  FT_RETURN_IF_ERROR(ReadRanks(file, keys, info));
  FT_RETURN_IF_ERROR(ReadAcceptance(file, info));
  return info;
}

std::optional<TargetFingerprint> NamedTarget(const GgufFile& metadata) {
  const auto architecture = metadata.String("general.architecture");
  if (!architecture.ok() || *architecture != kDraftArchitecture) return {};
  GgufKeys keys(metadata, kDraftPrefix + ".target");
  TargetFingerprint target = ReadTarget(metadata, keys);
  if (!keys.status().ok()) return {};
  return target;
}

bool DraftInfo::Shares(std::string_view part) const {
  return std::ranges::find(shared, part) != shared.end();
}

Result<std::unique_ptr<DraftFile>> DraftFile::Open(const std::string& path) {
  return GgufDraft::Open(path);
}

}  // namespace foretoken
