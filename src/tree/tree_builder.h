// Turns a drafter's offers into the best tree the budget allows.
#pragma once

#include <span>
#include <vector>

#include "tree/candidate_tree.h"

namespace foretoken {

// A token a drafter believes in, with its log-probability given the path before it.
struct Scored {
  Token token;
  float log_q;
};

struct TreeLimits {
  int max_nodes = 64;  // nodes scored by the target, root included
  int max_depth = 64;  // longest run that can be accepted
};

// Decides which nodes are worth expanding and which stay. Drafters only offer.
class TreePolicy {
 public:
  virtual ~TreePolicy() = default;
  // Of `fresh` (nodes offered since the last call), those the drafter should continue, best first.
  virtual std::vector<Node> Expand(const CandidateTree& tree,
                                   std::span<const Node> fresh) const = 0;
  // The nodes (ascending, closed under parents, the root included) that the target will score.
  virtual std::vector<Node> Keep(const CandidateTree& tree, const TreeLimits& limits) const = 0;
};
// One run: the best-scored child at every depth, the earlier of equals.
const TreePolicy& ChainPolicy();

// The drafter's side of the conversation is Offer / OfferRun / TakeFrontier; the engine's is
// Finish.
class TreeBuilder {
 public:
  TreeBuilder(Token root, TreeLimits limits, const TreePolicy& policy)
      : limits_(limits), policy_(policy), tree_(root), frontier_{0} {}

  const CandidateTree& tree() const { return tree_; }
  const TreeLimits& limits() const { return limits_; }

  // Offers continuations of `node`, best first. Duplicates are merged.
  void Offer(Node node, std::span<const Scored> tokens);
  // Offers one run of tokens below `node`, each with the same confidence; cut to the limits.
  // Returns the last node of the run.
  Node OfferRun(Node node, std::span<const Token> tokens, float log_q);
  // Asks the target to score `token` after `parent`, however unlikely. Returns the node (an offered
  // candidate stays one), or kNoNode where the limits leave no room.
  Node AddProbe(Node parent, Token token);
  // The nodes offered since the last call that deserve expanding, best first. The first call
  // returns the root; an empty answer means stop.
  std::vector<Node> TakeFrontier();
  // Every probe whose parent is kept, and what the policy keeps within the nodes that probes leave;
  // parents first, never more than max_nodes.
  CandidateTree Finish() const;

 private:
  TreeLimits limits_;
  const TreePolicy& policy_;
  CandidateTree tree_;
  std::vector<Node> frontier_;
  int probes_ = 0;
};

}  // namespace foretoken
