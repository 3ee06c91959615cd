// --drafter auto: copying from the text, joined with a draft made for the target, if there is one.
#include <algorithm>

#include "base/json.h"
#include "base/number_text.h"
#include "draft/found_drafts.h"
#include "draft/joined/joined.h"

namespace foretoken {
namespace {

constexpr std::string_view kCopying = "pld+h";

// Returns the drafters for the draft files that `options` name. If KEY is the required option of
// several drafters, the method recorded in the file selects the drafter, and KEY is renamed to
// DRAFTER.KEY.
Result<std::vector<std::string_view>> DraftersOf(Json& options) {
  std::vector<std::string_view> named;
  for (const DrafterEntry& entry : AllDrafters()) {
    if (entry.needs.empty() || !options.contains(entry.needs)) continue;
    const auto has_same_option = [&](const DrafterEntry& e) { return e.needs == entry.needs; };
    if (std::ranges::count_if(AllDrafters(), has_same_option) == 1) {
      named.push_back(entry.name);
      continue;
    }
    Json file = options[entry.needs];
    if (!file.is_string()) {
      return Error{"drafter auto: option " + std::string(entry.needs) + ": expected one file"};
    }
    FT_ASSIGN_OR_RETURN(const std::string_view name, DrafterOf(file.get<std::string>()));
    named.push_back(name);
    options.erase(entry.needs);
    options[std::string(name) + "." + std::string(entry.needs)] = std::move(file);
  }
  return named;
}

Result<std::unique_ptr<Drafter>> NewCopying(const std::vector<std::string_view>& draft_names,
                                            const Json& options, const DraftContext& context) {
  std::vector<std::string_view> parts{kCopying};
  parts.insert(parts.end(), draft_names.begin(), draft_names.end());
  return NewJoined(parts, context.With(options));
}

// The sentence about the choice of `draft` among `count` drafts in `folder`.
std::string ChoiceOf(const FoundDraft& draft, size_t count, const std::string& folder) {
  const std::string tau = draft.tau > 0 ? ", tau " + NumberText("%.2f", draft.tau) : "";
  const std::string among =
      count == 1 ? "the only draft in " : "of " + std::to_string(count) + " drafts in ";
  return "drafter auto uses " + draft.path + " (" + std::string(draft.drafter) + tau + "), " +
         among + folder + "; --draft or --draft-model selects another";
}

// Joins copying with the first of FindDrafts' drafts that can be loaded; returns copying alone
// if none can. Without a measured tau, a draft model comes first because it costs nothing until it
// drafts; drafts that read the target's hidden states need them for every row of a prompt.
Result<std::unique_ptr<Drafter>> NewFound(const Json& options, const DraftContext& context) {
  const std::vector<FoundDraft> found = FindDrafts(context);
  std::vector<std::string> notes;
  const auto report_notes = [&] {
    if (context.notes == nullptr) return;
    context.notes->insert(context.notes->end(), notes.begin(), notes.end());
  };
  for (const FoundDraft& draft : found) {
    Json draft_options = options;
    draft_options[std::string(draft.drafter) + "." + std::string(draft.option)] = draft.path;
    auto drafter = NewCopying({draft.drafter}, draft_options, context);
    if (!drafter.ok()) {
      notes.push_back(drafter.error().message + "; this draft is skipped");
      continue;
    }
    if (context.choice != nullptr) {
      *context.choice = ChoiceOf(draft, found.size(), DraftFolderOf(context.target_path));
    }
    report_notes();
    return drafter;
  }
  auto drafter = NewCopying({}, options, context);
  if (drafter.ok()) report_notes();
  return drafter;
}

}  // namespace

// `auto` has no options of its own; options of the drafters that it joins are prefixed with their
// names.
OptionTable DescribeAutomatic() { return {}; }

Result<std::unique_ptr<Drafter>> NewAutomatic(const DraftContext& context) {
  Json options = context.options;
  FT_ASSIGN_OR_RETURN(const std::vector<std::string_view> named, DraftersOf(options));
  return named.empty() ? NewFound(options, context) : NewCopying(named, options, context);
}

}  // namespace foretoken
