// The tree of tokens that one target pass scores.
//
// Node 0 is the root: the last token that the target emitted, whose keys and values are not cached
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

// The tokens that a drafter drew after one node, without replacement (V-5).
struct Draws {
  std::shared_ptr<const std::vector<float>> q;  // [vocab], the distribution of the first draw; sums
                                                // to 1
  std::vector<Token> order;                     // in the order drawn, including tokens whose
                                                // nodes were pruned
};

class CandidateTree {
 public:
  enum class Kind : uint8_t {
    kCandidate,  // kept if the policy finds it likely enough
    kProbe,      // always kept: scored so that the drafter sees the target's answer
  };

  explicit CandidateTree(Token root) { nodes_.push_back({.token = root}); }

  // A tree that is a single run of tokens, such as a prompt. REQUIRES: tokens not empty.
  static CandidateTree Chain(std::span<const Token> tokens);

  // Appends a child of `parent` and returns it. If `parent` already has a child with that token,
  // returns that child, which keeps its kind, the higher log_q, the proposers of both and the first
  // source. log_q: the drafter's log-probability of the token given its path, at most 0, for
  // candidates. source, proposers: see the accessors.
  Node Add(Node parent, Token token, float log_q, Kind kind = Kind::kCandidate, Pos source = kNoPos,
           uint32_t proposers = 1);
  // Records that `draws` were made after `n`. Verifiers treat a child of `n` that is not among them
  // as a draw from a point mass.
  void SetDraws(Node n, Draws draws);
  // Records that `n` was copied from position `at` of the predicted text. The first record stays.
  void SetPredicted(Node n, Pos at);

  int size() const { return static_cast<int>(nodes_.size()); }
  Token token(Node n) const { return nodes_[n].token; }
  Node parent(Node n) const { return nodes_[n].parent; }
  int depth(Node n) const { return nodes_[n].depth; }
  float log_q(Node n) const { return nodes_[n].log_q; }  // given the path to its parent
  float score(Node n) const { return nodes_[n].score; }  // sum of log_q over the path from the root
  // The parts of a joined drafter that proposed the node: bit i is part i.
  uint32_t proposers(Node n) const { return nodes_[n].proposers; }
  Kind kind(Node n) const { return nodes_[n].kind; }
  // Whether a drafter offered the node as a guess: candidates, and probes that were offered too.
  bool offered(Node n) const { return nodes_[n].offered; }
  // The position in this sequence that the token was copied from, or kNoPos.
  Pos source(Node n) const { return nodes_[n].source; }
  // The position in the predicted text (DraftSlot::predicted) that the token was copied from, or
  // kNoPos. Such a node may also have a source.
  Pos predicted(Node n) const { return nodes_[n].predicted; }
  const Draws* draws(Node n) const;  // null if nothing was drawn after n
  int max_depth() const;

  // Children in the order in which they were offered; kNoNode ends the list.
  Node FirstChild(Node n) const { return nodes_[n].first_child; }
  Node NextSibling(Node n) const { return nodes_[n].next_sibling; }
  // The child of `parent` with `token`, or kNoNode.
  Node Child(Node parent, Token token) const;
  std::vector<Token> TokensOf(std::span<const Node> nodes) const;
  // The parents of all nodes; the root's is kNoNode.
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

  // Marks `n` as offered with confidence `log_q` and updates the scores below it.
  void Believe(Node n, float log_q);

  std::vector<Item> nodes_;
  std::map<Node, Draws> draws_;
};

// The root and those nodes of `keep` [tree.size()] whose ancestors are kept, with their draws.
CandidateTree Pick(const CandidateTree& tree, const std::vector<bool>& keep);

}  // namespace foretoken
