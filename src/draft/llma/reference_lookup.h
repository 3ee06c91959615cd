// LLMA's search: prompt lookup's with reference documents (B-19).
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace foretoken {

struct ReferenceRule {
  int k = 10;         // tokens copied at most
  int max_ngram = 3;  // longest suffix looked for, tried first
  int min_ngram = 1;
};

// The tokens that follow the longest suffix of `text` which stands in a reference or earlier in
// `text`: the first place of the first reference that has it, `text` itself last. Shorter than k
// where the reference ends. Empty if there is none. A view into its arguments.
std::span<const Token> FollowingInReferences(std::span<const std::vector<Token>> references,
                                             std::span<const Token> text,
                                             const ReferenceRule& rule);

}  // namespace foretoken
