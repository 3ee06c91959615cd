// Turns a drafter's offers into the best tree the budget allows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tree/candidate_tree.h"
#include "tree/path_filter.h"
#include "tree/tree_policy.h"

namespace foretoken {

// A token a drafter believes in, with its log-probability given the path before it.
struct Scored {
  Token token;
  float log_q;
};

// The drafter's side of the conversation is Offer / OfferRun / OfferPredicted / OfferDrawn /
// TakeFrontier; the engine's is Finish, or Kept, Gains and Pick where sessions share a pass.
class TreeBuilder {
 public:
  // `draw_key`: the address of OfferDrawn's noise, KeyAfter every token up to the root; nothing
  // where the verifier does not ask how offers were made. `economy`: null if nothing was measured.
  // It and `policy` must outlive the builder.
  TreeBuilder(Token root, TreeLimits limits, const TreePolicy& policy,
              std::optional<uint64_t> draw_key = std::nullopt, const TreeEconomy* economy = nullptr)
      : context_{limits, economy},
        policy_(policy),
        draw_key_(draw_key),
        tree_(root),
        frontier_{0},
        read_(1) {
    context_.limits = policy_.Limits(context_);
  }

  // From now on offers that `filter` forbids are dropped; probes are not offers.
  void SetFilter(std::shared_ptr<PathFilter> filter) { filter_ = std::move(filter); }
  bool has_filter() const { return filter_ != nullptr; }
  // Masks the logits [vocab] of what follows `node`, so that a drafter ranks what may follow alone.
  // Returns false where nothing may. REQUIRES: has_filter().
  bool MaskLogits(Node node, std::span<float> logits) { return filter_->Mask(tree_, node, logits); }

  // The key of a text that is longer by `token`.
  static uint64_t KeyAfter(uint64_t key, Token token);

  // Everything offered so far.
  const CandidateTree& tree() const { return tree_; }
  const TreeLimits& limits() const { return context_.limits; }
  // Continuations of one node that the policy has a use for: what a drafter should offer.
  int width() const { return policy_.Width(); }
  // The parts of a joined drafter that have spoken; 1 for any other drafter.
  int parts() const { return static_cast<int>(context_.levels.size()); }
  // Answers of TakeFrontier that were not empty, of one part and of all.
  int levels(int part) const { return context_.levels[static_cast<size_t>(part)]; }
  int levels() const;
  // Tokens that a part read for those answers, of all that TakeFrontier was told of.
  int read(int part) const { return read_[static_cast<size_t>(part)]; }
  // Seconds that drafters spent on reading the prompt, which they do once and may put off until
  // they are first asked.
  double reading_seconds() const { return reading_seconds_; }
  void AddReadingSeconds(double seconds) { reading_seconds_ += seconds; }
  // Seconds that a part of a joined drafter took to propose; a negative value where nobody said.
  double part_seconds(int part) const;
  void SetPartSeconds(double seconds);  // of the part that spoke last

  // Offers continuations of `node`, best first; at most width() are taken, of those that
  // the filter allows. Duplicates are merged.
  void Offer(Node node, std::span<const Scored> tokens);
  // Offers one run of tokens below `node`, each with the same confidence; cut to the limits
  // and before a token that the filter forbids.
  // Returns the last node of the run. `source`: the position of this sequence that tokens[0] was
  // copied from, where it was.
  Node OfferRun(Node node, std::span<const Token> tokens, float log_q, Pos source = kNoPos);
  // The same below the root, of tokens that were copied from the predicted text. `at`: the position
  // of tokens[0] in it.
  void OfferPredicted(std::span<const Token> tokens, float log_q, Pos at);
  // Whether the verifier weighs offers by the distribution they were drawn from. A drafter that has
  // distributions then calls OfferDrawn where it would call Offer; one that has none need not care.
  bool wants_draws() const { return draw_key_.has_value(); }
  // Offers up to `count` continuations of `node`, drawn without replacement from `q` ([vocab], sums
  // to 1, logits processed as the target's will be: V-5). The noise is a function of the
  // text up to `node` alone, so a node that is pruned and comes back as the root has the same
  // draws: no policy can bias what the verifier sees. Where another drafter's draws follow `node`
  // already, offers the likeliest instead. REQUIRES: wants_draws().
  void OfferDrawn(Node node, std::vector<float> q, int count);
  // Asks the target to score `token` after `parent`, however unlikely. Returns the node (an offered
  // candidate stays one), or kNoNode where the limits leave no room.
  Node AddProbe(Node parent, Token token);
  // How many of the last `unread` tokens of its text a drafter should read before it drafts, where
  // it may leave out those before them; 0 where it will not be asked to expand anything.
  int TokensToRead(int unread) const { return policy_.TokensToRead(unread, context_); }
  // The nodes offered since the last call that deserve expanding, best first. The first call
  // returns the root; an empty answer means stop. `unread`: tokens of text that the drafter put off
  // reading and must read before it can expand anything, many where it was not asked for long.
  std::vector<Node> TakeFrontier(int unread = 0);
  // The next drafter of a joined one speaks: the frontier is the root again, and what it offers is
  // marked as its own.
  void NextDrafter();
  // What the policy keeps within the nodes that probes leave: candidates, ascending, closed under
  // parents, the root included.
  std::vector<Node> Kept() const;
  // [tree().size()] the tokens that each node is expected to add (TreePolicy::Gains).
  std::vector<double> Gains() const { return policy_.Gains(tree_, WithoutProbes()); }
  // Whether nodes are scored only where that pays, by costs that were measured.
  bool weighs_costs() const { return policy_.MayDecline() && context_.economy != nullptr; }
  int probes() const { return probes_; }
  // Every probe whose parent is kept, and what the policy keeps within the nodes that probes leave;
  // parents first, never more than max_nodes.
  CandidateTree Finish() const;

 private:
  bool Allows(Node node, Token token) {
    return filter_ == nullptr || filter_->Allows(tree_, node, token);
  }
  TreeContext WithoutProbes() const;
  uint32_t Proposer() const { return 1u << context_.part(); }
  void OfferLikeliest(Node node, std::span<const float> q, int count);
  uint64_t KeyOf(Node node) const;

  TreeContext context_;
  const TreePolicy& policy_;
  std::shared_ptr<PathFilter> filter_;  // null: every token may follow
  std::optional<uint64_t> draw_key_;
  CandidateTree tree_;
  std::vector<Node> frontier_;
  std::vector<int> offered_by_;  // [nodes, or fewer] the last part that offered the node, from 1
  int probes_ = 0;
  std::vector<int> read_;             // [parts]
  std::vector<double> part_seconds_;  // [parts, or fewer]
  double reading_seconds_ = 0;
};

}  // namespace foretoken
