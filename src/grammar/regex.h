// Parser of JSON Schema regular expressions ("pattern"), a subset of ECMA-262.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// An expression over characters that matches texts in which `pattern` is found; ^ and $ anchor it
// to the whole text. Errors: unsupported features (look-around, references, anchors within groups,
// word boundaries, Unicode properties), and syntax errors.
Result<Expr> ParseRegex(std::string_view pattern);

}  // namespace foretoken
