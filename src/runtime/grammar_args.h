// What answers must look like, as a command line says it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "grammar/automaton.h"
#include "text/tokenizer.h"
#include "verify/logit_filter.h"

namespace foretoken {

// One of them, or none.
struct GrammarArgs {
  std::string grammar, grammar_file;  // GBNF
  std::string json_schema;            // or "@FILE"
  std::string json_schema_file;

  bool any() const {
    return !grammar.empty() || !grammar_file.empty() || !json_schema.empty() ||
           !json_schema_file.empty();
  }
};

// The grammar, null where none is asked for. Errors: several at once, an unreadable file, a mistake
// in a grammar, a schema that is not supported.
Result<std::shared_ptr<const Automaton>> ReadGrammar(const GrammarArgs& args);

// The filter of answers that match `grammar`; null where that is null. `ends`: the tokens that end
// an answer. Errors: there are none.
Result<std::shared_ptr<const LogitFilter>> FilterBy(std::shared_ptr<const Automaton> grammar,
                                                    const Tokenizer& tokenizer,
                                                    std::span<const Token> ends);

}  // namespace foretoken
