// JSON schemas as grammars: docs/grammar.md has the subset.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Every text that the rules match is JSON that `schema` accepts; of what it accepts some is left
// out (docs/grammar.md). Errors: a keyword or value that is not supported, with its JSON pointer;
// `origin` opens them.
Result<GrammarRules> RulesOfSchema(const Json& schema, std::string_view origin);

}  // namespace foretoken
