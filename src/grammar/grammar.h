// Compilation of grammars and JSON schemas given by users.
#pragma once

#include <memory>
#include <string_view>

#include "base/json_fwd.h"
#include "base/result.h"
#include "grammar/automaton.h"

namespace foretoken {

// `origin` (an option, a file) prefixes errors. Errors: those of ParseGbnf and Automaton::Compile.
Result<std::shared_ptr<const Automaton>> GrammarOfGbnf(std::string_view text,
                                                       std::string_view origin);
// The grammar of the JSON that a schema accepts, for the subset in docs/grammar.md. Errors: the
// first keyword outside the subset, with its JSON pointer.
Result<std::shared_ptr<const Automaton>> GrammarOfSchema(const Json& schema,
                                                         std::string_view origin);
Result<std::shared_ptr<const Automaton>> GrammarOfSchemaText(std::string_view text,
                                                             std::string_view origin);
// The grammar of any JSON object.
std::shared_ptr<const Automaton> GrammarOfJsonObject();

}  // namespace foretoken
