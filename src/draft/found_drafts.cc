#include "draft/found_drafts.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/json.h"
#include "draft/open_draft.h"
#include "io/draft_file.h"
#include "io/draft_keys.h"
#include "io/gguf.h"
#include "io/model_file.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

// The values of DrafterEntry::needs that stand for a draft and for a model.
constexpr std::string_view kDraftOption = "draft", kModelOption = "draft_model";

Result<std::string_view> RequireRegistered(const std::string& method, const std::string& path) {
  const std::string_view name = DrafterOfMethod(method);
  if (!name.empty()) return name;
  return Error{path + ": " + DraftKey(kMethodKey) + " is '" + method +
               "', which is not the name of a drafter"};
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(folder, fault)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

// Whether the vocabulary in `metadata` is the target's, which has `tokens` tokens. A vocabulary of
// another size is rejected before its tokenizer is read.
bool HasVocabulary(const GgufFile& metadata, const TargetFingerprint& target, size_t tokens) {
  const auto own = metadata.Strings("tokenizer.ggml.tokens");
  if (!own.ok() || own->size() != tokens) return false;
  const auto tokenizer = ReadTokenizer(metadata);
  return tokenizer.ok() && VocabularyFingerprint(*tokenizer) == target.vocabulary;
}

// Classifies the files of a folder for one target.
class DraftSearch {
 public:
  DraftSearch(const Model& target, const Tokenizer& tokenizer)
      : target_(TargetFingerprint::Of(target.config(), tokenizer.data())),
        tokens_(tokenizer.data().tokens.size()) {}

  // The draft for this target that the file `path` holds, or nothing. Errors: a file that names
  // this target but cannot be used.
  Result<std::optional<FoundDraft>> Recognise(const std::string& path) const {
    const auto metadata = GgufFile::OpenMetadata(path);
    if (!metadata.ok()) return std::optional<FoundDraft>();  // unreadable metadata names no target
    const auto architecture = metadata->String("general.architecture");
    if (architecture.ok() && *architecture == kDraftArchitecture) {
      return RecogniseDraft(*metadata, path);
    }
    return RecogniseModel(*metadata, path);
  }

 private:
  Result<std::optional<FoundDraft>> RecogniseDraft(const GgufFile& metadata,
                                                   const std::string& path) const {
    DraftInfo named;
    if (auto target = NamedTarget(metadata)) named.target = *std::move(target);
    const bool is_for_target =
        named.target.hidden > 0 && CheckTarget(named, target_, /*any_name=*/false, path).ok();
    if (!is_for_target) return std::optional<FoundDraft>();
    FT_ASSIGN_OR_RETURN(const auto draft, OpenDraft(path));
    FT_ASSIGN_OR_RETURN(const std::string_view drafter,
                        RequireRegistered(draft->info().method, path));
    const std::vector<float>& shares = draft->info().acceptance;
    const std::vector<double> acceptance(shares.begin(), shares.end());
    const double tau = acceptance.empty() ? 0.0 : AcceptanceLength(acceptance);
    return std::optional(FoundDraft{drafter, kDraftOption, path, tau});
  }

  Result<std::optional<FoundDraft>> RecogniseModel(const GgufFile& metadata,
                                                   const std::string& path) const {
    const auto drafter = std::ranges::find(AllDrafters(), kModelOption, &DrafterEntry::needs);
    const bool is_usable =
        drafter != AllDrafters().end() && HasVocabulary(metadata, target_, tokens_);
    if (!is_usable) return std::optional<FoundDraft>();
    FT_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(path));
    FT_RETURN_IF_ERROR(ReadModelConfig(file));
    return std::optional(FoundDraft{drafter->name, kModelOption, path});
  }

  TargetFingerprint target_;
  size_t tokens_;
};

size_t RegistryOrder(const FoundDraft& draft) {
  const auto entry = std::ranges::find(AllDrafters(), draft.drafter, &DrafterEntry::name);
  return static_cast<size_t>(entry - AllDrafters().begin());
}

// "--draft-model" for "draft_model".
std::string FlagOf(std::string_view option) {
  std::string flag = "--" + std::string(option);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

Error NoDraftFoundError(const DrafterEntry& entry, const std::string& folder) {
  std::error_code fault;
  const std::string name(entry.name), flag = FlagOf(entry.needs);
  const std::string found = fs::is_directory(folder, fault)
                                ? ".gguf files there: " + std::to_string(FilesIn(folder).size())
                                : "there is no such folder";
  const std::string expected = entry.needs == kModelOption
                                   ? "model with this model's vocabulary"
                                   : "draft of method '" + name + "' made for this model";
  return Error{"drafter " + name + ": found no " + expected + " in " + folder + " (" + found +
               "); " + flag + " gives the path of one elsewhere"};
}

}  // namespace

std::string DraftFolderOf(const std::string& target_path) {
  if (target_path.empty()) return "";
  fs::path path = fs::path(target_path).lexically_normal();
  if (path.filename() == "." || path.filename() == "..") {  // names no folder whose parent
                                                            // could be taken
    std::error_code fault;
    path = fs::absolute(target_path, fault).lexically_normal();
  }
  if (!path.has_filename()) path = path.parent_path();
  return (path.parent_path() / "drafts").string();
}

std::vector<FoundDraft> FindDrafts(const Model& target, const Tokenizer* tokenizer,
                                   const std::string& target_path,
                                   std::vector<std::string>* notes) {
  std::vector<FoundDraft> found;
  if (target_path.empty() || tokenizer == nullptr) return found;
  const std::string folder = DraftFolderOf(target_path);
  if (std::error_code fault; notes != nullptr && fs::is_regular_file(folder, fault)) {
    notes->push_back(folder + " is a file; drafts are looked for in a folder of this name");
  }
  const std::vector<std::string> files = FilesIn(folder);
  if (files.empty()) return found;
  const DraftSearch search(target, *tokenizer);
  for (const std::string& path : files) {
    auto draft = search.Recognise(path);
    if (!draft.ok()) {
      if (notes != nullptr) notes->push_back(draft.error().message + "; this draft is skipped");
    } else if (draft->has_value()) {
      found.push_back(**std::move(draft));
    }
  }
  std::ranges::stable_sort(found, {}, RegistryOrder);
  std::ranges::stable_sort(found, std::greater(), &FoundDraft::tau);
  return found;
}

std::vector<FoundDraft> FindDrafts(const DraftContext& context) {
  return FindDrafts(context.target, context.tokenizer, context.target_path, context.notes);
}

Result<std::string> FindFileFor(const DrafterEntry& entry, const DraftContext& context) {
  const std::string name(entry.name), option(entry.needs);
  const bool is_draft = entry.needs == kDraftOption || entry.needs == kModelOption;
  if (!is_draft || context.target_path.empty()) {
    return Error{"drafter " + name + ": option " + option +
                 " is missing; it names a file that the drafter requires"};
  }
  std::vector<FoundDraft> found = FindDrafts(context);
  std::erase_if(found, [&](const FoundDraft& draft) { return draft.drafter != entry.name; });
  const std::string folder = DraftFolderOf(context.target_path);
  if (found.empty()) return NoDraftFoundError(entry, folder);
  if (found.size() > 1 && context.notes != nullptr) {
    context.notes->push_back("drafter " + name + " uses " + found.front().path + ", the first of " +
                             std::to_string(found.size()) + " in " + folder + "; " +
                             FlagOf(entry.needs) + " selects another");
  }
  return found.front().path;
}

std::string_view DrafterOfMethod(std::string_view method) {
  const auto entry = std::ranges::find(AllDrafters(), method, &DrafterEntry::name);
  return entry == AllDrafters().end() ? std::string_view() : entry->name;
}

Result<std::string_view> DrafterOf(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const auto draft, OpenDraft(path));
  return RequireRegistered(draft->info().method, path);
}

}  // namespace foretoken
