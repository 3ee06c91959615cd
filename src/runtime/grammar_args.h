// Constraints on answers as given on a command line.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "grammar/automaton.h"
#include "text/tokenizer.h"
#include "verify/logit_filter.h"

namespace foretoken {

// At most one of these may be set.
struct GrammarArgs {
  std::string grammar, grammar_file;  // GBNF
  std::string json_schema;            // the schema, or "@FILE"
  std::string json_schema_file;

  bool any() const {
    return !grammar.empty() || !grammar_file.empty() || !json_schema.empty() ||
           !json_schema_file.empty();
  }
};

// Returns the grammar, or null if none is given. Errors: more than one, an unreadable file, an
// invalid grammar, an unsupported schema.
Result<std::shared_ptr<const Automaton>> ReadGrammar(const GrammarArgs& args);

// Returns the filter for answers that match `grammar`; null if `grammar` is null. `ends`: the
// tokens that end an answer. Errors: `ends` is empty.
Result<std::shared_ptr<const LogitFilter>> FilterBy(std::shared_ptr<const Automaton> grammar,
                                                    const Tokenizer& tokenizer,
                                                    std::span<const Token> ends);

}  // namespace foretoken
