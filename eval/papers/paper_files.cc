// The files of bench/papers, compiled in: the papers' tables, and drafts.json, the recipes for
// their drafts.
#include <algorithm>

#include "base/check.h"
#include "base/comma_list.h"
#include "base/json.h"
#include "eval/papers/paper_table.h"

namespace foretoken {
namespace {

struct PaperFile {
  std::string_view name, text;
};
constexpr PaperFile kPaperFiles[] = {
#include "paper_files.inc"
};
constexpr std::string_view kDraftsFile = "drafts";

const PaperFile* FindPaperFile(std::string_view name) {
  const auto found = std::ranges::find(kPaperFiles, name, &PaperFile::name);
  return found == std::end(kPaperFiles) ? nullptr : found;
}

Json DraftRecipes() {
  const Result<Json> recipes = ParseJson(FindPaperFile(kDraftsFile)->text, "drafts.json");
  FT_CHECK(recipes.ok());  // compiled in, and parsed by paper_test
  return *recipes;
}

}  // namespace

std::vector<std::string_view> PaperNames() {
  std::vector<std::string_view> names;
  for (const PaperFile& file : kPaperFiles) {
    if (file.name != kDraftsFile) names.push_back(file.name);
  }
  return names;
}

Result<std::string_view> PaperText(const std::string& name) {
  const PaperFile* file = name == kDraftsFile ? nullptr : FindPaperFile(name);
  if (file != nullptr) return file->text;
  return Error{"no table '" + name + "'; known: " + CommaList(PaperNames())};
}

std::optional<std::string> PaperDraftRecipe(const std::string& key) {
  const Json recipes = DraftRecipes();
  if (key.find('*') != std::string::npos) return std::nullopt;  // a pattern, not a key
  for (const auto& [pattern, recipe] : recipes.items()) {
    std::string text = recipe.get<std::string>();
    if (pattern == key) return text;
    const std::string prefix = pattern.substr(0, pattern.size() - 1);
    if (!pattern.ends_with('*') || !key.starts_with(prefix) || key == prefix) continue;
    const size_t star = text.find('*');
    if (star != std::string::npos) text.replace(star, 1, key.substr(prefix.size()));
    return text;
  }
  return std::nullopt;
}

std::vector<std::string> PaperDraftKeys() {
  const Json recipes = DraftRecipes();
  std::vector<std::string> keys;
  keys.reserve(recipes.size());
  for (const auto& [key, recipe] : recipes.items()) keys.push_back(key);
  return keys;
}

}  // namespace foretoken
