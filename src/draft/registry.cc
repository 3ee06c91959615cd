#include "base/comma_list.h"
#include "base/json.h"
#include "draft/drafter.h"
#include "draft/joined/joined.h"

namespace foretoken {

#define FT_DRAFTER(folder, name, factory, ...) \
  Result<std::unique_ptr<Drafter>> factory(const DraftContext&);
#include "draft/drafters.def"
#undef FT_DRAFTER

namespace {

Status CheckNeeds(const DrafterEntry& entry, const Json& options) {
  if (entry.needs.empty() || options.contains(entry.needs)) return {};
  return Error{"drafter " + std::string(entry.name) + ": option " + std::string(entry.needs) +
               " is missing; it names a file the drafter cannot do without"};
}

}  // namespace

std::span<const DrafterEntry> AllDrafters() {
  static constexpr DrafterEntry kAll[] = {
#define FT_DRAFTER(folder, name, factory, ...) {name, &factory, __VA_ARGS__},
#include "draft/drafters.def"
#undef FT_DRAFTER
  };
  return kAll;
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
    if (e.name != name) continue;
    FT_RETURN_IF_ERROR(CheckNeeds(e, context.options));
    return e.make(context);
  }
  return Error{"drafter: no '" + std::string(name) + "'; known: none, " +
               CommaList(AllDrafters(), &DrafterEntry::name)};
}

}  // namespace foretoken
