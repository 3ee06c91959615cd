// A grammar as a filter of logits: what is written matches it.
#pragma once

#include <memory>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/matcher.h"
#include "grammar/token_trie.h"
#include "verify/logit_filter.h"

namespace foretoken {

// The state before the first token of an answer. It and its forks share what they find out of the
// grammar: they belong to one thread. Where a limit is passed nothing may follow. Errors: `trie`
// has no token that ends an answer.
Result<std::unique_ptr<LogitFilter>> NewGrammarFilter(std::shared_ptr<const Automaton> grammar,
                                                      std::shared_ptr<const TokenTrie> trie,
                                                      const GrammarLimits& limits = {});

}  // namespace foretoken
