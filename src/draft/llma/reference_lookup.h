// LLMA's search: prompt lookup extended to reference documents (B-19).
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct ReferenceRule {
  int k = 10;         // maximum number of tokens copied
  int max_ngram = 3;  // longest suffix searched for; tried first
  int min_ngram = 1;
};

// The tokens that follow the longest suffix of `text` that also occurs in a reference or earlier in
// `text`. They are copied from its first occurrence in the first reference that contains it, or in
// `text` itself if no reference does. There are at most rule.k tokens, fewer where the source ends,
// and none if no suffix occurs again. The result is a view into `references` or `text`.
std::span<const Token> FollowingInReferences(std::span<const std::vector<Token>> references,
                                             std::span<const Token> text,
                                             const ReferenceRule& rule);

}  // namespace foretoken
