// Checks of grammar rules before compilation.
#pragma once

#include <vector>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Errors: left recursion, naming the rules involved.
Status CheckLeftRecursion(const GrammarRules& rules);

// Number of automaton states of an expression; a called rule counts as one. Counting stops at about
// kMostStates.
int StatesOf(const Expr& expr);
// Whether the expression calls rules.
bool CallsRules(const Expr& expr);

}  // namespace foretoken
