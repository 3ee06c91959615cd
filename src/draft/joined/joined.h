// Joins several drafters into one: all offer to the same tree, in which duplicates merge.
#pragma once

#include <span>
#include <string_view>

#include "draft/drafter.h"

namespace foretoken {

// `parts`: in the order in which they propose; the offers of earlier parts take precedence where
// the tree's limits leave too little room. context.options: "PART.KEY" is a part's own KEY; a KEY
// without a part goes to the first part whose required option it is. Errors: a part named twice, an
// option that belongs to no part, errors of a part.
Result<std::unique_ptr<Drafter>> NewJoined(std::span<const std::string_view> parts,
                                           const DraftContext& context);

}  // namespace foretoken
