// Turns a drafter's offers into the best tree the budget allows.
#pragma once

#include <cstdint>
#include <optional>
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

// The drafter's side of the conversation is Offer / OfferRun / OfferDrawn / TakeFrontier; the
// engine's is Finish.
class TreeBuilder {
 public:
  // `draw_key`: the address of OfferDrawn's noise, KeyAfter every token up to the root; nothing
  // where the verifier does not ask how offers were made.
  TreeBuilder(Token root, TreeLimits limits, const TreePolicy& policy,
              std::optional<uint64_t> draw_key = std::nullopt)
      : limits_(limits), policy_(policy), draw_key_(draw_key), tree_(root), frontier_{0} {}

  // The key of a text that is longer by `token`.
  static uint64_t KeyAfter(uint64_t key, Token token);

  const CandidateTree& tree() const { return tree_; }
  const TreeLimits& limits() const { return limits_; }

  // Offers continuations of `node`, best first. Duplicates are merged.
  void Offer(Node node, std::span<const Scored> tokens);
  // Offers one run of tokens below `node`, each with the same confidence; cut to the limits.
  // Returns the last node of the run. `source`: the position of this sequence that tokens[0] was
  // copied from, where it was.
  Node OfferRun(Node node, std::span<const Token> tokens, float log_q, Pos source = kNoPos);
  // Whether the verifier weighs offers by the distribution they were drawn from. A drafter that has
  // distributions then calls OfferDrawn where it would call Offer; one that has none need not care.
  bool wants_draws() const { return draw_key_.has_value(); }
  // Offers up to `count` continuations of `node`, drawn without replacement from `q` ([vocab], sums
  // to 1, logits processed as the target's will be: methods.md 1.7). The noise is a function of the
  // text up to `node` alone, so a node that is pruned and comes back as the root has the same
  // draws: no policy can bias what the verifier sees. REQUIRES: wants_draws(); once a node.
  void OfferDrawn(Node node, std::vector<float> q, int count);
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
  uint64_t KeyOf(Node node) const;

  TreeLimits limits_;
  const TreePolicy& policy_;
  std::optional<uint64_t> draw_key_;
  CandidateTree tree_;
  std::vector<Node> frontier_;
  int probes_ = 0;
};

}  // namespace foretoken
