// What can be told of rules before they are compiled.
#pragma once

#include <vector>

#include "base/result.h"
#include "grammar/rules.h"

namespace foretoken {

// Errors: a rule that may begin with itself, naming the rules on the way.
Status CheckLeftRecursion(const GrammarRules& rules);

// States that an expression takes, rules it calls counted as one; at most about kMostStates is
// counted.
int StatesOf(const Expr& expr);
// Whether it calls rules.
bool CallsRules(const Expr& expr);

}  // namespace foretoken
