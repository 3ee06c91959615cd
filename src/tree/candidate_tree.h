// The tree of tokens that one target pass will score.
//
// Node 0 is the root: the last token the target emitted, whose keys and values are not in the cache
// yet. Every other node continues its parent. Invariants (T-1):
//   1. parent(n) < n, so masks, positions, accepted paths and compaction are left-to-right passes;
//   2. siblings carry distinct tokens (it is a trie).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/types.h"

namespace foretoken {

// What a drafter drew after one node, without replacement (V-5).
struct Draws {
  std::shared_ptr<const std::vector<float>> q;  // [vocab], what the first was drawn from; sums to 1
  std::vector<Token> order;                     // as drawn, those whose nodes were pruned included
};

class CandidateTree {
 public:
  enum class Kind : uint8_t {
    kCandidate,  // kept if it is likely enough
    kProbe,      // always kept: scored so that the drafter can learn from the answer
  };

  explicit CandidateTree(Token root) { nodes_.push_back({.token = root}); }

  // A tree that is one run of tokens, as a prompt is. REQUIRES: tokens not empty.
  static CandidateTree Chain(std::span<const Token> tokens);

  // Appends a child of `parent` and returns it. If `parent` already has that token, returns that
  // node, which keeps its kind, the higher log_q, the proposers of both and the first source.
  // log_q: the drafter's log-probability of the token given its path, at most 0, for candidates.
  // source, proposers: see below.
  Node Add(Node parent, Token token, float log_q, Kind kind = Kind::kCandidate, Pos source = kNoPos,
           uint32_t proposers = 1);
  // Notes that `draws` were made after `n`. A child of `n` that is not among them was chosen, which
  // a verifier takes for a draw from a point mass.
  void SetDraws(Node n, Draws draws);
  // Notes that `n` was copied from position `at` of the predicted text, unless another one is
  // noted.
  void SetPredicted(Node n, Pos at);

  int size() const { return static_cast<int>(nodes_.size()); }
  Token token(Node n) const { return nodes_[n].token; }
  Node parent(Node n) const { return nodes_[n].parent; }
  int depth(Node n) const { return nodes_[n].depth; }
  float log_q(Node n) const { return nodes_[n].log_q; }  // given the path to its parent
  float score(Node n) const { return nodes_[n].score; }  // log q of the path from the root
  // Which parts of a joined drafter proposed the node: bit i is the i-th.
  uint32_t proposers(Node n) const { return nodes_[n].proposers; }
  Kind kind(Node n) const { return nodes_[n].kind; }
  // Whether a drafter believes in it: candidates, and probes that were offered, too.
  bool offered(Node n) const { return nodes_[n].offered; }
  // The position of this sequence that the token was copied from, or kNoPos.
  Pos source(Node n) const { return nodes_[n].source; }
  // The position of the text that the answer was predicted to be (DraftSlot::predicted) that the
  // token was copied from, or kNoPos. A node may have a source besides.
  Pos predicted(Node n) const { return nodes_[n].predicted; }
  const Draws* draws(Node n) const;  // null if nothing was drawn after n
  int max_depth() const;

  // Children in the order they were offered in; kNoNode ends the list.
  Node FirstChild(Node n) const { return nodes_[n].first_child; }
  Node NextSibling(Node n) const { return nodes_[n].next_sibling; }
  // The child of `parent` holding `token`, or kNoNode.
  Node Child(Node parent, Token token) const;
  std::vector<Token> TokensOf(std::span<const Node> nodes) const;
  // The parents of all nodes, the root's being kNoNode.
  std::vector<Node> Parents() const;

 private:
  struct Item {
    Token token;
    Node parent = kNoNode;
    int depth = 0;
    float log_q = 0, score = 0;
    Kind kind = Kind::kCandidate;
    bool offered = true;
    Pos source = kNoPos;
    uint32_t proposers = 1;
    Pos predicted = kNoPos;
    Node first_child = kNoNode, last_child = kNoNode, next_sibling = kNoNode;
  };

  // Believes `n` so much, and everything below it accordingly.
  void Believe(Node n, float log_q);

  std::vector<Item> nodes_;
  std::map<Node, Draws> draws_;
};

// The root, and those nodes of `keep` [tree.size()] whose ancestors are kept, with their draws.
CandidateTree Pick(const CandidateTree& tree, const std::vector<bool>& keep);

}  // namespace foretoken
