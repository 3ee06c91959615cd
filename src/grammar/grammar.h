// Grammars as users name them, ready to filter answers.
#pragma once

#include <memory>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"
#include "grammar/automaton.h"

namespace foretoken {

// `origin` (an option, a file) opens errors. Errors: of ParseGbnf, of Automaton::Compile.
Result<std::shared_ptr<const Automaton>> GrammarOfGbnf(std::string_view text,
                                                       std::string_view origin);
// What a JSON schema accepts, of the subset in docs/grammar.md. Errors: the first keyword that is
// not in the subset, with its JSON pointer.
Result<std::shared_ptr<const Automaton>> GrammarOfSchema(const Json& schema,
                                                         std::string_view origin);
Result<std::shared_ptr<const Automaton>> GrammarOfSchemaText(std::string_view text,
                                                             std::string_view origin);
// Any JSON object.
std::shared_ptr<const Automaton> GrammarOfJsonObject();

}  // namespace foretoken
