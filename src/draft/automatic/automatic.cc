// --drafter auto: copying from the text, joined with whatever drafts there are for the target.
#include <algorithm>

#include "base/json.h"
#include "draft/found_drafts.h"
#include "draft/joined/joined.h"

namespace foretoken {
namespace {

constexpr std::string_view kCopying = "pld+h";

// The drafters that the files among `options` are for. Where several could take a file, the file
// says which; its option is renamed for that one.
Result<std::vector<std::string_view>> DraftersOf(Json& options) {
  std::vector<std::string_view> named;
  for (const DrafterEntry& entry : AllDrafters()) {
    if (entry.needs.empty() || !options.contains(entry.needs)) continue;
    const auto takes = [&](const DrafterEntry& e) { return e.needs == entry.needs; };
    if (std::ranges::count_if(AllDrafters(), takes) == 1) {
      named.push_back(entry.name);
      continue;
    }
    Json file = options[entry.needs];
    if (!file.is_string()) return Error{"drafter auto: more than one file for one draft"};
    FT_ASSIGN_OR_RETURN(const std::string_view name, DrafterOf(file.get<std::string>()));
    named.push_back(name);
    options.erase(entry.needs);
    options[std::string(name) + "." + std::string(entry.needs)] = std::move(file);
  }
  return named;
}

}  // namespace

Result<std::unique_ptr<Drafter>> NewAutomatic(const DraftContext& context) {
  Json options = context.options;
  FT_ASSIGN_OR_RETURN(std::vector<std::string_view> parts, DraftersOf(options));
  if (parts.empty()) {
    const auto found = FindDrafts(context.target, context.tokenizer, context.target_path);
    if (!found.empty()) {
      // The first: a draft model costs nothing until it is asked, while drafts that read the
      // target's hidden states have it compute them for every row of a prompt.
      const FoundDraft& draft = found.front();
      parts.push_back(draft.drafter);
      options[std::string(draft.drafter) + "." + std::string(draft.option)] = draft.path;
    }
  }
  parts.insert(parts.begin(), kCopying);
  return NewJoined(
      parts, {context.target, context.capacity, options, context.target_path, context.tokenizer});
}

}  // namespace foretoken
