// Parser of GBNF, llama.cpp's grammar notation: docs/grammar.md.
#pragma once

#include <string_view>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Errors: a syntax error, prefixed by `origin`, line and column; rules that are undefined or
// defined twice; no `root`.
Result<GrammarRules> ParseGbnf(std::string_view text, std::string_view origin);

}  // namespace foretoken
