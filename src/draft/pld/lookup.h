// Prompt lookup's search for earlier occurrences of the last few tokens (B-16).
#pragma once

#include <span>

#include "base/option_fields.h"
#include "base/types.h"

namespace foretoken {

struct LookupRule {
  int k = 10;         // tokens copied; an occurrence with fewer tokens after it is ignored
  int max_ngram = 3;  // longest suffix searched for; tried first
  int min_ngram = 1;
  void Visit(OptionFields& fields);
};

// Finds the longest suffix of `text` (min_ngram to max_ngram tokens) that also occurs earlier with
// at least k tokens after it, and returns the k tokens after the first such occurrence; empty if
// there is none. The result is a view into `text`.
std::span<const Token> FollowingLastNgram(std::span<const Token> text, const LookupRule& rule);

}  // namespace foretoken
