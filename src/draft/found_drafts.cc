#include "draft/found_drafts.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "io/draft_file.h"
#include "io/model_file.h"
#include "text/tokenizer.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

Result<std::string_view> Registered(const std::string& method, const std::string& path) {
  const auto entry = std::ranges::find(AllDrafters(), method, &DrafterEntry::name);
  if (entry != AllDrafters().end()) return entry->name;
  return Error{path + ": foretoken.draft.method is '" + method + "', which is no drafter's name"};
}

std::vector<std::string> FilesBeside(const std::string& target_path) {
  std::vector<std::string> paths;
  std::error_code fault;
  const fs::path folder = fs::absolute(target_path, fault).parent_path() / "drafts";
  for (const auto& entry : fs::directory_iterator(folder, fault)) {
    if (entry.path().extension() == ".gguf") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::optional<FoundDraft> Recognise(const std::string& path, const TargetFingerprint& target) {
  const auto draft = DraftFile::Open(path);
  if (draft.ok()) {
    const DraftInfo& info = (*draft)->info();
    const auto name = Registered(info.method, path);
    if (!name.ok() || !CheckTarget(info, target, /*any_name=*/false, path).ok()) return {};
    return FoundDraft{*name, "draft", path};
  }
  const auto model = ModelFile::Open(path);
  if (!model.ok() || VocabularyFingerprint((*model)->tokenizer()) != target.vocabulary) return {};
  return FoundDraft{"draft-model", "draft_model", path};
}

size_t Order(const FoundDraft& draft) {
  const auto entry = std::ranges::find(AllDrafters(), draft.drafter, &DrafterEntry::name);
  return static_cast<size_t>(entry - AllDrafters().begin());
}

}  // namespace

std::vector<FoundDraft> FindDrafts(const Model& target, const Tokenizer* tokenizer,
                                   const std::string& target_path) {
  std::vector<FoundDraft> found;
  if (target_path.empty() || tokenizer == nullptr) return found;
  const auto fingerprint = TargetFingerprint::Of(target.config(), tokenizer->data());
  for (const std::string& path : FilesBeside(target_path)) {
    if (auto draft = Recognise(path, fingerprint)) found.push_back(*std::move(draft));
  }
  std::ranges::stable_sort(found, {}, Order);
  return found;
}

Result<std::string_view> DrafterOf(const std::string& path) {
  FT_ASSIGN_OR_RETURN(const auto draft, DraftFile::Open(path));
  return Registered(draft->info().method, path);
}

}  // namespace foretoken
