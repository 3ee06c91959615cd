// Conversion of JSON schemas to grammars. docs/grammar.md defines the supported subset.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Every text that the rules match is JSON that `schema` accepts. The converse does not hold: some
// accepted JSON is left out (docs/grammar.md). Errors: an unsupported keyword or value, with its
// JSON pointer; `origin` prefixes them.
Result<GrammarRules> RulesOfSchema(const Json& schema, std::string_view origin);

}  // namespace foretoken
