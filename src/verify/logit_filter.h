// Restricts which tokens may follow a text, for example to match a grammar.
#pragma once

#include <memory>
#include <span>

#include "base/types.h"

namespace foretoken {

// The filter's state after some text: a value that can be forked. What it allows depends on that
// text only, so masking a node's logits gives the same row in every tree that has the node.
// Thread-safety: one thread for a filter and all its forks, which may share what they compute.
class LogitFilter {
 public:
  virtual ~LogitFilter() = default;
  virtual std::unique_ptr<LogitFilter> Fork() const = 0;
  // Sets the logits of tokens that may not follow to -infinity. `logits`: [vocab]; ids beyond the
  // tokenizer's, which some models have, may not follow.
  virtual void Mask(std::span<float> logits) = 0;
  // Whether Mask would keep `token`. There is one exception. A filter that finds a mask too
  // expensive forbids every token at that point of the text, but until Mask is called there, Allows
  // may still accept tokens.
  virtual bool Allows(Token token) = 0;
  // Appends `token` to the text. After a token that Allows refuses, nothing may follow, so that the
  // next choice is a dead end.
  virtual void Accept(Token token) = 0;
  // Whether the text may end here. If so, the tokens that end an answer are allowed; after one of
  // them, only such tokens may follow.
  virtual bool MayEnd() const = 0;
};

}  // namespace foretoken
