// GBNF, the notation of grammars that llama.cpp reads: docs/grammar.md.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Errors: what is wrong with the text, opened by `origin`, its line and column; rules that are not
// defined, are defined twice, or no `root`.
Result<GrammarRules> ParseGbnf(std::string_view text, std::string_view origin);

}  // namespace foretoken
