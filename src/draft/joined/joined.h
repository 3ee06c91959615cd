// Several drafters as one: each offers what it has to the same tree, where duplicates merge.
#pragma once

#include <span>
#include <string_view>

#include "draft/drafter.h"

namespace foretoken {

// `parts` in the order they speak in; of what the limits leave no room for, nothing is lost to the
// earlier ones. context.options: "PART.KEY" is a part's own KEY; a KEY alone goes to the part that
// cannot do without it. Errors: a part named twice, an option of no part, what a part complains of.
Result<std::unique_ptr<Drafter>> NewJoined(std::span<const std::string_view> parts,
                                           const DraftContext& context);

}  // namespace foretoken
