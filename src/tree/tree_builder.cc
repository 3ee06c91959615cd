#include "tree/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/rng.h"

namespace foretoken {
namespace {

class Chain final : public TreePolicy {
 public:
  std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh) const override {
    if (fresh.empty()) return {};
    return {*std::max_element(fresh.begin(), fresh.end(),
                              [&tree](Node a, Node b) { return tree.score(a) < tree.score(b); })};
  }

  std::vector<Node> Keep(const CandidateTree& tree, const TreeLimits& limits) const override {
    std::vector<Node> kept{0};
    while (static_cast<int>(kept.size()) < limits.max_nodes) {
      const Node child = BestChild(tree, kept.back());
      if (child == kNoNode || tree.depth(child) > limits.max_depth) break;
      kept.push_back(child);
    }
    return kept;
  }

 private:
  static Node BestChild(const CandidateTree& tree, Node parent) {
    Node best = kNoNode;
    for (Node n = parent + 1; n < tree.size(); ++n) {
      if (tree.parent(n) != parent || tree.kind(n) != CandidateTree::Kind::kCandidate) continue;
      if (best == kNoNode || tree.score(n) > tree.score(best)) best = n;
    }
    return best;
  }
};

}  // namespace

const TreePolicy& ChainPolicy() {
  static const Chain policy;
  return policy;
}

void TreeBuilder::Offer(Node node, std::span<const Scored> tokens) {
  if (tree_.depth(node) >= limits_.max_depth) return;
  for (const Scored& s : tokens) {
    const int before = tree_.size();
    const Node child = tree_.Add(node, s.token, std::min(s.log_q, 0.0f));
    if (child == before) frontier_.push_back(child);
  }
}

Node TreeBuilder::OfferRun(Node node, std::span<const Token> tokens, float log_q, Pos source) {
  for (Token token : tokens) {
    if (tree_.depth(node) >= limits_.max_depth) break;
    node = tree_.Add(node, token, std::min(log_q, 0.0f), CandidateTree::Kind::kCandidate, source);
    if (source != kNoPos) ++source;
  }
  return node;
}

void TreeBuilder::OfferDrawn(Node node, std::vector<float> q, int count) {
  FT_CHECK(wants_draws() && tree_.draws(node) == nullptr);
  if (tree_.depth(node) >= limits_.max_depth) return;
  Draws draws{std::make_shared<const std::vector<float>>(q), {}};
  const uint64_t key = KeyOf(node);
  std::vector<Scored> offers;
  for (int i = 0; i < count; ++i) {
    const Token token = Draw(q, Uniform(key, 0, static_cast<uint64_t>(i)));
    if (token == kNoToken) break;  // q has no more than i tokens
    draws.order.push_back(token);
    offers.push_back({token, std::log((*draws.q)[static_cast<size_t>(token)])});
    q[static_cast<size_t>(token)] = 0;
  }
  tree_.SetDraws(node, std::move(draws));
  Offer(node, offers);
}

uint64_t TreeBuilder::KeyAfter(uint64_t key, Token token) {
  return Mix(key ^ static_cast<uint64_t>(token));
}

uint64_t TreeBuilder::KeyOf(Node node) const {
  return node == 0 ? *draw_key_ : KeyAfter(KeyOf(tree_.parent(node)), tree_.token(node));
}

Node TreeBuilder::AddProbe(Node parent, Token token) {
  if (tree_.depth(parent) >= limits_.max_depth) return kNoNode;
  if (const Node child = tree_.Child(parent, token); child != kNoNode) return child;
  if (probes_ + 1 >= limits_.max_nodes) return kNoNode;  // the root needs its node
  ++probes_;
  return tree_.Add(parent, token, 0, CandidateTree::Kind::kProbe);
}

std::vector<Node> TreeBuilder::TakeFrontier() {
  std::vector<Node> fresh = std::exchange(frontier_, {});
  std::erase_if(fresh, [this](Node n) { return tree_.depth(n) >= limits_.max_depth; });
  return policy_.Expand(tree_, fresh);
}

CandidateTree TreeBuilder::Finish() const {
  TreeLimits left = limits_;
  left.max_nodes -= probes_;
  std::vector<bool> keep(tree_.size(), false);
  for (Node n : policy_.Keep(tree_, left)) keep[n] = true;

  CandidateTree result(tree_.token(0));
  std::vector<Node> renamed(tree_.size(), kNoNode);
  renamed[0] = 0;
  for (Node n = 1; n < tree_.size(); ++n) {
    const Node parent = renamed[tree_.parent(n)];
    const bool probe = tree_.kind(n) == CandidateTree::Kind::kProbe;
    if (parent == kNoNode || !(keep[n] || probe)) continue;
    const float log_q = tree_.score(n) - tree_.score(tree_.parent(n));
    renamed[n] = result.Add(parent, tree_.token(n), log_q, tree_.kind(n), tree_.source(n));
  }
  for (Node n = 0; n < tree_.size(); ++n) {
    const Draws* draws = tree_.draws(n);
    if (draws != nullptr && renamed[n] != kNoNode) result.SetDraws(renamed[n], *draws);
  }
  return result;
}

}  // namespace foretoken
