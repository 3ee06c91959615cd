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

// Finds the longest suffix of `text` that also occurs earlier, and returns the k tokens after its
// earliest occurrence; nothing if no suffix occurs earlier. The result is a view into `text`.
std::span<const Token> FollowingLastNgram(std::span<const Token> text, const LookupRule& rule);

}  // namespace foretoken
