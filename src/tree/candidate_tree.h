// The tree of tokens that one target pass will score.
//
// Node 0 is the root: the last token the target emitted, whose keys and values are not in the cache
// yet. Every other node continues its parent. Invariants (methods.md 1.1):
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

// What a drafter drew after one node, without replacement (methods.md 1.7).
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

  explicit CandidateTree(Token root) { nodes_.push_back({root, kNoNode, 0, 0, Kind::kCandidate}); }

  // A tree that is one run of tokens, as a prompt is. REQUIRES: tokens not empty.
  static CandidateTree Chain(std::span<const Token> tokens);

  // Appends a child of `parent` and returns it; the existing one if `parent` already has that
  // token. log_q: the drafter's log-probability of the token given its path, for candidates.
  // source: see below.
  Node Add(Node parent, Token token, float log_q, Kind kind = Kind::kCandidate,
           Pos source = kNoPos);
  // Notes that `draws` were made after `n`. A child of `n` that is not among them was chosen, which
  // a verifier takes for a draw from a point mass.
  void SetDraws(Node n, Draws draws);

  int size() const { return static_cast<int>(nodes_.size()); }
  Token token(Node n) const { return nodes_[n].token; }
  Node parent(Node n) const { return nodes_[n].parent; }
  int depth(Node n) const { return nodes_[n].depth; }
  float score(Node n) const { return nodes_[n].score; }  // log q of the path from the root
  Kind kind(Node n) const { return nodes_[n].kind; }
  // The position of this sequence that the token was copied from, or kNoPos.
  Pos source(Node n) const { return nodes_[n].source; }
  const Draws* draws(Node n) const;  // null if nothing was drawn after n
  int max_depth() const;

  // The child of `parent` holding `token`, or kNoNode.
  Node Child(Node parent, Token token) const;
  // The parents of all nodes, the root's being kNoNode.
  std::vector<Node> Parents() const;

 private:
  struct Item {
    Token token;
    Node parent;
    int depth;
    float score;
    Kind kind;
    Pos source = kNoPos;
  };
  std::vector<Item> nodes_;
  std::map<Node, Draws> draws_;
};

}  // namespace foretoken
