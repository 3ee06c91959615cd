#include "tree/candidate_tree.h"

#include <algorithm>
#include <utility>

namespace foretoken {

CandidateTree CandidateTree::Chain(std::span<const Token> tokens) {
  FT_CHECK(!tokens.empty());
  CandidateTree tree(tokens[0]);
  tree.nodes_.reserve(tokens.size());
  for (size_t i = 1; i < tokens.size(); ++i) tree.Add(static_cast<Node>(i) - 1, tokens[i], 0);
  return tree;
}

Node CandidateTree::Add(Node parent, Token token, float log_q, Kind kind, Pos source,
                        uint32_t proposers) {
  FT_CHECK(0 <= parent && parent < size());
  if (const Node child = Child(parent, token); child != kNoNode) {
    nodes_[child].proposers |= proposers;
    if (nodes_[child].source == kNoPos) nodes_[child].source = source;
    const bool news = !nodes_[child].offered || log_q > nodes_[child].log_q;
    if (kind == Kind::kCandidate && news) Believe(child, log_q);
    return child;
  }
  const Node added = size();
  nodes_.push_back({token, parent, depth(parent) + 1, log_q, score(parent) + log_q, kind,
                    kind == Kind::kCandidate, source, proposers});
  Item& above = nodes_[parent];
  (above.first_child == kNoNode ? above.first_child : nodes_[above.last_child].next_sibling) =
      added;
  above.last_child = added;
  return added;
}

// Scores are summed in one fixed order, parent first, so that no child ever outscores its parent.
void CandidateTree::Believe(Node n, float log_q) {
  nodes_[n].offered = true;
  nodes_[n].log_q = log_q;
  for (Node i = n; i < size(); ++i) nodes_[i].score = score(parent(i)) + nodes_[i].log_q;
}

void CandidateTree::SetDraws(Node n, Draws draws) {
  FT_CHECK(0 <= n && n < size() && draws.q != nullptr);
  draws_[n] = std::move(draws);
}

void CandidateTree::SetPredicted(Node n, Pos at) {
  FT_CHECK(0 < n && n < size());
  if (nodes_[n].predicted == kNoPos) nodes_[n].predicted = at;
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
  for (Node n = FirstChild(parent); n != kNoNode; n = NextSibling(n)) {
    if (nodes_[n].token == token) return n;
  }
  return kNoNode;
}

std::vector<Token> CandidateTree::TokensOf(std::span<const Node> nodes) const {
  std::vector<Token> tokens;
  tokens.reserve(nodes.size());
  for (const Node n : nodes) tokens.push_back(token(n));
  return tokens;
}

std::vector<Node> CandidateTree::Parents() const {
  std::vector<Node> parents;
  parents.reserve(nodes_.size());
  for (const Item& item : nodes_) parents.push_back(item.parent);
  return parents;
}

CandidateTree Pick(const CandidateTree& tree, const std::vector<bool>& keep) {
  CandidateTree result(tree.token(0));
  std::vector<Node> renamed(static_cast<size_t>(tree.size()), kNoNode);
  renamed[0] = 0;
  for (Node n = 1; n < tree.size(); ++n) {
    const Node parent = renamed[tree.parent(n)];
    if (parent == kNoNode || !keep[n]) continue;
    renamed[n] = result.Add(parent, tree.token(n), tree.log_q(n), tree.kind(n), tree.source(n),
                            tree.proposers(n));
    if (tree.offered(n) && tree.kind(n) == CandidateTree::Kind::kProbe) {
      // Offered later than it was added: it stays a probe and counts as offered.
      result.Add(parent, tree.token(n), tree.log_q(n), CandidateTree::Kind::kCandidate,
                 tree.source(n), tree.proposers(n));
    }
    result.SetPredicted(renamed[n], tree.predicted(n));
  }
  for (Node n = 0; n < tree.size(); ++n) {
    const Draws* draws = tree.draws(n);
    if (draws != nullptr && renamed[n] != kNoNode) result.SetDraws(renamed[n], *draws);
  }
  return result;
}

}  // namespace foretoken
