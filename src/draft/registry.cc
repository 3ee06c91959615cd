// The registry of drafters, made from drafters.def.
#include "base/comma_list.h"
#include "base/json.h"
#include "draft/drafter.h"
#include "draft/found_drafts.h"
#include "draft/joined/joined.h"

namespace foretoken {

#define FT_DRAFTER(folder, name, Stem, ...)                        \
  Result<std::unique_ptr<Drafter>> New##Stem(const DraftContext&); \
  OptionTable Describe##Stem();
#include "draft/all_drafters.def"
#undef FT_DRAFTER

namespace {

// Builds the drafter. If the option for its required file is missing, the file is looked for beside
// the target.
Result<std::unique_ptr<Drafter>> Make(const DrafterEntry& entry, const DraftContext& context) {
  if (entry.needs.empty() || context.options.contains(entry.needs)) return entry.make(context);
  Json options = context.options;
  FT_ASSIGN_OR_RETURN(options[std::string(entry.needs)], FindFileFor(entry, context));
  return entry.make(context.With(options));
}

}  // namespace

std::span<const DrafterEntry> AllDrafters() {
  static constexpr DrafterEntry kAll[] = {
#define FT_DRAFTER(folder, name, Stem, ...) {name, &New##Stem, &Describe##Stem, __VA_ARGS__},
#include "draft/all_drafters.def"
#undef FT_DRAFTER
  };
  return kAll;
}

std::vector<OptionOwner> DrafterOptions() {
  std::vector<OptionOwner> all;
  for (const DrafterEntry& e : AllDrafters()) all.push_back({e.name, e.describe()});
  return all;
}

std::vector<std::string_view> SplitDrafters(std::string_view names) {
  std::vector<std::string_view> parts;
  for (size_t comma = names.find(','); comma != std::string_view::npos; comma = names.find(',')) {
    parts.push_back(names.substr(0, comma));
    names.remove_prefix(comma + 1);
  }
  parts.push_back(names);
  return parts;
}

Result<std::unique_ptr<Drafter>> NewDrafter(std::string_view name, const DraftContext& context) {
  const std::vector<std::string_view> parts = SplitDrafters(name);
  if (parts.size() > 1) return NewJoined(parts, context);
  for (const DrafterEntry& e : AllDrafters()) {
    if (e.name == name) return Make(e, context);
  }
  return Error{"drafter: no '" + std::string(name) + "'; known: none, " +
               CommaList(AllDrafters(), &DrafterEntry::name)};
}

}  // namespace foretoken
