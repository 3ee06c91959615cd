#include "eval/papers/paper_drafts.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/comma_list.h"
#include "draft/found_drafts.h"
#include "eval/papers/paper_table.h"

namespace foretoken {
namespace {

namespace fs = std::filesystem;

const std::string* FindValue(const NamedValues& values, const std::string& key) {
  const auto found = std::ranges::find(values, key, &NamedValues::value_type::first);
  return found == values.end() ? nullptr : &found->second;
}

// Whether a file is named *-KEY-TYPE.gguf, as foretoken-demo-24m-hass-q8_0.gguf is for the key
// "hass".
bool IsNamedFor(const fs::path& file, const std::string& key) {
  if (file.extension() != ".gguf") return false;
  const std::string stem = file.stem();
  const std::string before_type = stem.substr(0, stem.rfind('-'));
  return before_type.ends_with("-" + key);
}

Error Unexpected(const std::string& found, const std::string& expected) {
  return Error{"--draft: found '" + found + "', expected " + expected};
}

void ReplaceWord(const std::string& word, const std::string& replacement, std::string& text) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += replacement.size()) {
    text.replace(at, word.size(), replacement);
  }
}

}  // namespace

Result<PaperDraftFiles> PaperDraftFiles::Create(const std::vector<std::string>& given,
                                                const LoadedModel* loaded) {
  PaperDraftFiles drafts;
  const std::vector<std::string> keys = PaperDraftKeys();
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) return Unexpected(text, "KEY=FILE");
    std::string key = text.substr(0, equals);
    if (!PaperDraftRecipe(key)) return Unexpected(key, "one of " + CommaList(keys));
    drafts.files_.emplace_back(std::move(key), text.substr(equals + 1));
  }
  if (loaded == nullptr) return drafts;
  drafts.model_ = loaded->file->path();
  const fs::path model(drafts.model_);
  const std::string stem = model.stem();
  drafts.stem_ = stem.substr(0, stem.rfind('-'));
  drafts.folder_ = (model.parent_path() / "drafts").string();
  // A draft whose file name has no key is used for the key that equals its drafter's name.
  for (const FoundDraft& found :
       FindDrafts(*loaded->model, loaded->tokenizer.get(), drafts.model_)) {
    const std::string drafter(found.drafter);
    if (!PaperDraftRecipe(drafter) || !drafts.Find(drafter).empty()) continue;
    const bool has_own_key = std::ranges::any_of(
        keys, [&found](const std::string& key) { return IsNamedFor(found.path, key); });
    if (!has_own_key) drafts.files_.emplace_back(drafter, found.path);
  }
  return drafts;
}

std::string PaperDraftFiles::Find(const std::string& key) const {
  if (const std::string* given = FindValue(files_, key)) return *given;
  std::vector<std::string> candidates;
  std::error_code fault;
  for (const auto& file : fs::directory_iterator(folder_, fault)) {
    if (IsNamedFor(file.path(), key)) candidates.push_back(file.path().string());
  }
  return candidates.empty() ? "" : *std::ranges::min_element(candidates);
}

Result<std::string> PaperDraftFiles::HowToMake(const std::string& key) const {
  const std::optional<std::string> recipe = PaperDraftRecipe(key);
  if (!recipe) return Error{"drafts.json: unknown key '" + key + "'"};
  std::string text = *recipe;
  if (text.starts_with("train ")) {
    text = "foretoken " + text +
           " --target MODEL --data DATA --out runs/KEY, then foretoken train "
           "export --checkpoint runs/KEY --out drafts/STEM-KEY-q8_0.gguf --type q8_0";
  }
  ReplaceWord("MODEL", model_, text);
  ReplaceWord("STEM", stem_, text);
  ReplaceWord("KEY", key, text);
  return text;
}

}  // namespace foretoken
