// What policies share: comparing nodes, and keeping the best.
#pragma once

#include <span>
#include <vector>

#include "tree/tree_policy.h"

namespace foretoken {

// Higher score first; of equals the one offered first.
inline bool Better(const CandidateTree& tree, Node a, Node b) {
  return tree.score(a) != tree.score(b) ? tree.score(a) > tree.score(b) : a < b;
}

// The `count` best of `nodes`, best first.
std::vector<Node> Best(const CandidateTree& tree, std::vector<Node> nodes, size_t count);

// The best of `fresh` if it lies above `depth`: the step that a tree around one run expands.
std::vector<Node> NextStep(const CandidateTree& tree, std::span<const Node> fresh, int depth);

// Which nodes are candidates whose ancestors are candidates; the root is one. [tree.size()]
std::vector<bool> Candidates(const CandidateTree& tree);

// The best candidate child, or kNoNode.
Node BestChild(const CandidateTree& tree, Node parent);

// The root and as many of the best `wanted` nodes [tree.size()] as max_nodes allow, ascending.
// REQUIRES: `wanted` holds candidates and, with a node, its parent.
std::vector<Node> KeepBest(const CandidateTree& tree, const std::vector<bool>& wanted,
                           int max_nodes);

}  // namespace foretoken
