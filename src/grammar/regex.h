// The regular expressions of JSON schemas ("pattern"), a subset of ECMA-262.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Texts in which `pattern` is found, as an expression over their characters: all of the text where
// it is anchored by ^ and $. Errors: what is not supported (look-around, references, anchors within
// groups, word boundaries, Unicode properties), and mistakes.
Result<Expr> ParseRegex(std::string_view pattern);

}  // namespace foretoken
