#include "tree/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/rng.h"

namespace foretoken {

void TreeBuilder::Offer(Node node, std::span<const Scored> tokens) {
  if (tree_.depth(node) >= limits().max_depth) return;
  int taken = 0;
  for (const Scored& s : tokens) {
    if (taken == width()) break;
    if (!Allows(node, s.token)) continue;
    ++taken;
    const Node child = tree_.Add(node, s.token, std::min(s.log_q, 0.0f),
                                 CandidateTree::Kind::kCandidate, kNoPos, Proposer());
    offered_by_.resize(std::max(offered_by_.size(), static_cast<size_t>(child) + 1));
    if (std::exchange(offered_by_[child], parts()) != parts()) frontier_.push_back(child);
  }
}

Node TreeBuilder::OfferRun(Node node, std::span<const Token> tokens, float log_q, Pos source) {
  for (Token token : tokens) {
    if (tree_.depth(node) >= limits().max_depth || !Allows(node, token)) break;
    node = tree_.Add(node, token, std::min(log_q, 0.0f), CandidateTree::Kind::kCandidate, source,
                     Proposer());
    if (source != kNoPos) ++source;
  }
  return node;
}

void TreeBuilder::OfferPredicted(std::span<const Token> tokens, float log_q, Pos at) {
  for (Node n = OfferRun(0, tokens, log_q); n != 0; n = tree_.parent(n)) {
    tree_.SetPredicted(n, at + tree_.depth(n) - 1);
  }
}

void TreeBuilder::OfferDrawn(Node node, std::vector<float> q, int count) {
  FT_CHECK(wants_draws());
  if (tree_.depth(node) >= limits().max_depth) return;
  if (tree_.draws(node) != nullptr) return OfferLikeliest(node, q, count);
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

// Offers the likeliest tokens after a node that already has draws. A node's draws must come from a
// single distribution, and chosen offers are as valid as drawn ones.
void TreeBuilder::OfferLikeliest(Node node, std::span<const float> q, int count) {
  std::vector<Token> order(q.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<ptrdiff_t>(count, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(),
                    [q](Token a, Token b) { return q[a] != q[b] ? q[a] > q[b] : a < b; });
  std::vector<Scored> offers;
  for (auto token = order.begin(); token != end && q[*token] > 0; ++token) {
    offers.push_back({*token, std::log(q[*token])});
  }
  Offer(node, offers);
}

uint64_t TreeBuilder::KeyAfter(uint64_t key, Token token) {
  return Mix(key ^ static_cast<uint64_t>(token));
}

uint64_t TreeBuilder::KeyOf(Node node) const {
  return node == 0 ? *draw_key_ : KeyAfter(KeyOf(tree_.parent(node)), tree_.token(node));
}

int TreeBuilder::ProbeRoom() const {
  const int below_root = limits().max_nodes - 1;
  return std::min(below_root, limits().max_probes) - probes_;
}

Node TreeBuilder::AddProbe(Node parent, Token token) {
  if (tree_.depth(parent) >= limits().max_depth) return kNoNode;
  if (const Node child = tree_.Child(parent, token); child != kNoNode) return child;
  if (ProbeRoom() <= 0) return kNoNode;
  ++probes_;
  return tree_.Add(parent, token, 0, CandidateTree::Kind::kProbe, kNoPos, Proposer());
}

std::vector<Node> TreeBuilder::TakeFrontier(int unread) {
  std::vector<Node> fresh = std::exchange(frontier_, {});
  if (limits().max_nodes <= 1) return {};
  std::erase_if(fresh, [this](Node n) { return tree_.depth(n) >= limits().max_depth; });
  if (fresh.empty()) return {};
  context_.unread = unread;
  std::vector<Node> chosen = policy_.Expand(tree_, fresh, context_);
  if (chosen.empty()) return chosen;
  ++context_.levels.back();
  read_.back() += unread;
  return chosen;
}

void TreeBuilder::NextDrafter() {
  context_.levels.push_back(0);
  read_.push_back(0);
  frontier_ = {0};
}

int TreeBuilder::levels() const {
  return std::accumulate(context_.levels.begin(), context_.levels.end(), 0);
}

double TreeBuilder::part_seconds(int part) const {
  const auto p = static_cast<size_t>(part);
  return p < part_seconds_.size() ? part_seconds_[p] : -1;
}

void TreeBuilder::SetPartSeconds(double seconds) {
  part_seconds_.resize(context_.levels.size(), -1);
  part_seconds_.back() = seconds;
}

// The context, with max_nodes reduced by the number of probes.
TreeContext TreeBuilder::WithoutProbes() const {
  TreeContext left = context_;
  left.limits.max_nodes -= probes_;
  return left;
}

std::vector<Node> TreeBuilder::Kept() const { return policy_.Keep(tree_, WithoutProbes()); }

CandidateTree TreeBuilder::Finish() const {
  std::vector<bool> keep(static_cast<size_t>(tree_.size()), false);
  for (const Node n : Kept()) keep[n] = true;
  for (Node n = 1; n < tree_.size(); ++n) {
    if (tree_.kind(n) == CandidateTree::Kind::kProbe) keep[n] = true;
  }
  return Pick(tree_, keep);
}

}  // namespace foretoken
