// A logit filter that restricts generated text to a grammar.
#pragma once

#include <memory>

#include "base/result.h"
#include "grammar/automaton.h"
#include "grammar/matcher.h"
#include "grammar/token_trie.h"
#include "verify/logit_filter.h"

namespace foretoken {

// Returns the filter state before the first token of an answer. The state and its forks share a
// cache of masks and configurations, so all of them must be used on one thread. If a limit is
// exceeded, no token is allowed. Errors: `trie` has no end token.
Result<std::unique_ptr<LogitFilter>> NewGrammarFilter(std::shared_ptr<const Automaton> grammar,
                                                      std::shared_ptr<const TokenTrie> trie,
                                                      const GrammarLimits& limits = {});

}  // namespace foretoken
