#include "base/json.h"
#include "draft/drafter.h"

namespace foretoken {

#define FT_DRAFTER(folder, name, factory, summary) \
  Result<std::unique_ptr<Drafter>> factory(const DraftContext&);
#include "draft/drafters.def"
#undef FT_DRAFTER

std::span<const DrafterEntry> AllDrafters() {
  static constexpr DrafterEntry kAll[] = {
#define FT_DRAFTER(folder, name, factory, summary) {name, summary, &factory},
#include "draft/drafters.def"
#undef FT_DRAFTER
  };
  return kAll;
}

Result<std::unique_ptr<Drafter>> NewDrafter(std::string_view name, const DraftContext& context) {
  std::string known;
  for (const DrafterEntry& e : AllDrafters()) {
    if (e.name == name) return e.make(context);
    known += (known.empty() ? "" : ", ") + std::string(e.name);
  }
  return Error{"drafter: no '" + std::string(name) + "'; known: none, " + known};
}

}  // namespace foretoken
