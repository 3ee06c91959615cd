#include "tree/selection.h"

#include <algorithm>
#include <cmath>

namespace foretoken {

std::vector<Node> Best(const CandidateTree& tree, std::vector<Node> nodes, size_t count) {
  const auto better = [&tree](Node a, Node b) { return Better(tree, a, b); };
  const auto middle = nodes.begin() + static_cast<ptrdiff_t>(std::min(count, nodes.size()));
  std::partial_sort(nodes.begin(), middle, nodes.end(), better);
  nodes.erase(middle, nodes.end());
  return nodes;
}

std::vector<Node> NextStep(const CandidateTree& tree, std::span<const Node> fresh, int depth) {
  std::vector<Node> best = Best(tree, {fresh.begin(), fresh.end()}, 1);
  std::erase_if(best, [&](Node n) { return tree.depth(n) >= depth; });
  return best;
}

std::vector<bool> Candidates(const CandidateTree& tree) {
  std::vector<bool> candidate(static_cast<size_t>(tree.size()), true);
  for (Node n = 1; n < tree.size(); ++n) {
    candidate[n] = candidate[tree.parent(n)] && tree.offered(n);
  }
  return candidate;
}

Node BestChild(const CandidateTree& tree, Node parent) {
  Node best = kNoNode;
  for (Node n = tree.FirstChild(parent); n != kNoNode; n = tree.NextSibling(n)) {
    if (!tree.offered(n)) continue;
    if (best == kNoNode || Better(tree, n, best)) best = n;
  }
  return best;
}

std::vector<Node> KeepBest(const CandidateTree& tree, const std::vector<bool>& wanted,
                           int max_nodes) {
  std::vector<Node> nodes;
  for (Node n = 1; n < tree.size(); ++n) {
    if (wanted[n]) nodes.push_back(n);
  }
  if (static_cast<int>(nodes.size()) >= max_nodes) {
    nodes = Best(tree, std::move(nodes), static_cast<size_t>(max_nodes - 1));
    std::sort(nodes.begin(), nodes.end());
  }
  nodes.insert(nodes.begin(), 0);
  return nodes;
}

std::vector<double> TreePolicy::Gains(const CandidateTree& tree, const TreeContext&) const {
  const std::vector<bool> candidate = Candidates(tree);
  std::vector<double> gains(static_cast<size_t>(tree.size()), 0.0);
  for (Node n = 0; n < tree.size(); ++n) {
    if (candidate[n]) gains[n] = std::exp(static_cast<double>(tree.score(n)));
  }
  return gains;
}

}  // namespace foretoken
