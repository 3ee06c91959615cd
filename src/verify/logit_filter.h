// Which tokens may follow a text, such as one that must match a grammar.
#pragma once

#include <memory>
#include <span>

#include "base/types.h"

namespace foretoken {

// The state after some text: a value that forks. What it allows depends on that text alone, so
// masking a node's logits gives the same row in whatever tree the node was scored. Thread-safety:
// one thread for a filter and all its forks, which may share what they compute.
class LogitFilter {
 public:
  virtual ~LogitFilter() = default;
  virtual std::unique_ptr<LogitFilter> Fork() const = 0;
  // Sets the logits of tokens that may not follow to -infinity. `logits`: [vocab], of which a
  // model may have more than its tokenizer: those may not follow.
  virtual void Mask(std::span<float> logits) = 0;
  // As Mask says. A filter that gives up a mask for its cost forbids all there; before it was asked
  // for the mask it may allow tokens yet.
  virtual bool Allows(Token token) = 0;
  // The text is longer by `token`. After one that Allows refuses nothing may follow, so that the
  // next choice is a dead end.
  virtual void Accept(Token token) = 0;
  // Whether the text is complete as it is. The tokens that end an answer are allowed then. After
  // one of them they alone may follow.
  virtual bool MayEnd() const = 0;
};

}  // namespace foretoken
