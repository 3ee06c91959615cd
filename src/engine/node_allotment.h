// Which nodes of the trees that sessions offer share a pass: those expected to gain most.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// What one session offers.
struct NodeOffer {
  const CandidateTree& tree;
  // [tree.size()] tokens that a node is expected to add; never more than its parent's. 0: it is not
  // to be scored.
  std::vector<double> gains;
  // [tree.size()] nodes that serve no guess: they are taken all or none, after every guess.
  std::vector<bool> probes;
};

// [offers][tree.size()] the nodes that are scored: at most `room`, roots not counted, by gain,
// highest first. Where all of them fit, all are. Of equals the first session's come first.
std::vector<std::vector<bool>> AllotNodes(std::span<const NodeOffer> offers, int room);

}  // namespace foretoken
