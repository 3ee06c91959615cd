#include "tree/candidate_tree.h"

#include <algorithm>
#include <utility>

namespace foretoken {

CandidateTree CandidateTree::Chain(std::span<const Token> tokens) {
  FT_CHECK(!tokens.empty());
  CandidateTree tree(tokens[0]);
  tree.nodes_.reserve(tokens.size());
  for (size_t i = 1; i < tokens.size(); ++i) {
    const int depth = static_cast<int>(i);
    tree.nodes_.push_back({tokens[i], depth - 1, depth, 0, Kind::kCandidate});
  }
  return tree;
}

Node CandidateTree::Add(Node parent, Token token, float log_q, Kind kind, Pos source) {
  FT_CHECK(0 <= parent && parent < size());
  if (const Node child = Child(parent, token); child != kNoNode) {
    if (nodes_[child].source == kNoPos) nodes_[child].source = source;
    return child;
  }
  nodes_.push_back({token, parent, depth(parent) + 1, score(parent) + log_q, kind, source});
  return size() - 1;
}

void CandidateTree::SetDraws(Node n, Draws draws) {
  FT_CHECK(0 <= n && n < size() && draws.q != nullptr);
  draws_[n] = std::move(draws);
}

const Draws* CandidateTree::draws(Node n) const {
  const auto found = draws_.find(n);
  return found == draws_.end() ? nullptr : &found->second;
}

int CandidateTree::max_depth() const {
  int deepest = 0;
  for (const Item& item : nodes_) deepest = std::max(deepest, item.depth);
  return deepest;
}

Node CandidateTree::Child(Node parent, Token token) const {
  for (Node n = parent + 1; n < size(); ++n) {
    if (nodes_[n].parent == parent && nodes_[n].token == token) return n;
  }
  return kNoNode;
}

std::vector<Node> CandidateTree::Parents() const {
  std::vector<Node> parents;
  parents.reserve(nodes_.size());
  for (const Item& item : nodes_) parents.push_back(item.parent);
  return parents;
}

}  // namespace foretoken
