// Restricts which tokens may follow the nodes of a tree, so that offers which can never be accepted
// are dropped.
#pragma once

#include <span>

#include "base/types.h"
#include "tree/candidate_tree.h"

namespace foretoken {

// A filter over one growing tree. Nodes must keep their numbers from call to call.
class PathFilter {
 public:
  virtual ~PathFilter() = default;
  // Whether `token` may follow `node` of `tree`. Always false below a node that may not follow its
  // parent.
  virtual bool Allows(const CandidateTree& tree, Node node, Token token) = 0;
  // Sets the logits [vocab] of tokens that may not follow `node` to -infinity. Returns false if
  // nothing may follow; `logits` are then unspecified.
  virtual bool Mask(const CandidateTree& tree, Node node, std::span<float> logits) = 0;
};

}  // namespace foretoken
