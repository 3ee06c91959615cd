// Helpers shared by tree policies: comparing nodes and keeping the best.
#pragma once

#include <span>
#include <vector>

#include "tree/tree_policy.h"

namespace foretoken {

// Orders nodes by score, highest first; equal scores in the order in which they were offered.
inline bool Better(const CandidateTree& tree, Node a, Node b) {
  return tree.score(a) != tree.score(b) ? tree.score(a) > tree.score(b) : a < b;
}

// The `count` best of `nodes`, best first.
std::vector<Node> Best(const CandidateTree& tree, std::vector<Node> nodes, size_t count);

// The node that a policy of single runs expands: the best of `fresh` if it is shallower than
// `depth`, else nothing.
std::vector<Node> NextStep(const CandidateTree& tree, std::span<const Node> fresh, int depth);

// [tree.size()] whether a node and all its ancestors are candidates; the root counts as one.
std::vector<bool> Candidates(const CandidateTree& tree);

// The best candidate child, or kNoNode.
Node BestChild(const CandidateTree& tree, Node parent);

// The root and the best of the nodes marked in `wanted` [tree.size()], at most max_nodes in all,
// ascending. REQUIRES: all marked nodes are candidates whose parents are marked.
std::vector<Node> KeepBest(const CandidateTree& tree, const std::vector<bool>& wanted,
                           int max_nodes);

}  // namespace foretoken
