// Prompt lookup's search for earlier occurrences of the last few tokens (B-16).
#pragma once

#include <span>

#include "base/option_fields.h"
#include "base/types.h"

namespace foretoken {

struct LookupRule {
  int k = 10;         // tokens copied; an occurrence must be followed by that many
  int max_ngram = 3;  // longest suffix searched for; tried first
  int min_ngram = 1;
  void Visit(OptionFields& fields);
};

// The tokens that followed the earliest other occurrence of the longest suffix of `text` that has
// one; empty if none has. A view into `text`.
std::span<const Token> FollowingLastNgram(std::span<const Token> text, const LookupRule& rule);

}  // namespace foretoken
