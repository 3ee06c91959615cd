// Which tokens may follow the nodes of a tree: offers that may never be accepted are dropped.
#pragma once

#include <span>

#include "base/types.h"
#include "tree/candidate_tree.h"

namespace foretoken {

// Of one growing tree: nodes keep their numbers from call to call.
class PathFilter {
 public:
  virtual ~PathFilter() = default;
  // Whether `token` may follow `node` of `tree`. False below a node that may not stand there.
  virtual bool Allows(const CandidateTree& tree, Node node, Token token) = 0;
  // Sets the logits [vocab] of tokens that may not follow `node` to -infinity. Returns false, with
  // `logits` as they may be, where nothing may follow.
  virtual bool Mask(const CandidateTree& tree, Node node, std::span<float> logits) = 0;
};

}  // namespace foretoken
