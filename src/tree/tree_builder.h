// Builds the candidate tree from a drafter's offers, within the limits and by a policy's decisions.
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

// A guessed token and its log-probability given the path before it.
struct Scored {
  Token token;
  float log_q;
};

// Drafters call Offer / OfferRun / OfferPredicted / OfferDrawn / TakeFrontier; the engine calls
// Finish, or Kept, Gains and Pick where sessions share a pass.
class TreeBuilder {
 public:
  // `draw_key`: seeds OfferDrawn's noise and is made by applying KeyAfter to all tokens up to the
  // root; nullopt if the verifier does not depend on how offers were made. `economy`: null if
  // nothing was measured. `economy` and `policy` must outlive the builder.
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

  // Drops all further offers that `filter` forbids. Probes are not affected.
  void SetFilter(std::shared_ptr<PathFilter> filter) { filter_ = std::move(filter); }
  bool has_filter() const { return filter_ != nullptr; }
  // Masks the logits [vocab] of the token after `node`, so that a drafter ranks only allowed
  // tokens. Returns false if nothing may follow. REQUIRES: has_filter().
  bool MaskLogits(Node node, std::span<float> logits) { return filter_->Mask(tree_, node, logits); }

  // The key of a text after `token` is appended; `key` is the text's key before that.
  static uint64_t KeyAfter(uint64_t key, Token token);

  // Everything offered so far.
  const CandidateTree& tree() const { return tree_; }
  const TreeLimits& limits() const { return context_.limits; }
  // Maximum number of continuations of one node that the policy uses; a drafter need not offer
  // more.
  int width() const { return policy_.Width(); }
  // Parts of a joined drafter that have proposed or are proposing; 1 for any other drafter.
  int parts() const { return static_cast<int>(context_.levels.size()); }
  // Number of calls of TakeFrontier that returned nodes, by one part and by all parts.
  int levels(int part) const { return context_.levels[static_cast<size_t>(part)]; }
  int levels() const;
  // Tokens of text that a part had to read for its levels, as passed to TakeFrontier.
  int read(int part) const { return read_[static_cast<size_t>(part)]; }
  // Seconds that drafters spent on reading the prompt, which happens once and may be put off until
  // their first draft.
  double reading_seconds() const { return reading_seconds_; }
  void AddReadingSeconds(double seconds) { reading_seconds_ += seconds; }
  // Seconds that a part of a joined drafter took to propose; negative if unknown.
  double part_seconds(int part) const;
  void SetPartSeconds(double seconds);  // of the last part

  // Offers continuations of `node`, best first. Takes at most width() of those that the filter
  // allows. Duplicates are merged.
  void Offer(Node node, std::span<const Scored> tokens);
  // Offers one run of tokens below `node`, all with the same confidence, cut at the depth limit and
  // before the first token that the filter forbids. Returns the last node of the run. `source`: the
  // position in this sequence that tokens[0] was copied from, or kNoPos.
  Node OfferRun(Node node, std::span<const Token> tokens, float log_q, Pos source = kNoPos);
  // Offers a run below the root that was copied from the predicted text. `at`: position of
  // tokens[0] in that text.
  void OfferPredicted(std::span<const Token> tokens, float log_q, Pos at);
  // Whether the verifier weighs offers by the distribution that they were drawn from. Drafters that
  // have distributions must then call OfferDrawn in place of Offer; others may ignore it.
  bool wants_draws() const { return draw_key_.has_value(); }
  // Offers up to `count` continuations of `node`, drawn without replacement from `q` [vocab], which
  // sums to 1 and comes from logits processed like the target's (V-5). The noise is a function of
  // the text up to `node` only, so a node that is pruned and later becomes the root has the same
  // draws: no policy can bias what the verifier sees. If another drafter's draws already follow
  // `node`, the likeliest tokens are offered instead. REQUIRES: wants_draws().
  void OfferDrawn(Node node, std::vector<float> q, int count);
  // Adds a probe: the target scores `token` after `parent`, however unlikely it is. Returns the
  // node (an offered candidate stays a candidate), or kNoNode if the limits leave no room.
  // REQUIRES: `parent` is a node of the tree.
  Node AddProbe(Node parent, Token token);
  // The number of probes that can still be added within the limits on nodes and probes.
  int ProbeRoom() const;
  // For a drafter that can skip earlier tokens: how many of the last `unread` tokens of its text to
  // read before it drafts; 0 if its frontier will be empty.
  int TokensToRead(int unread) const { return policy_.TokensToRead(unread, context_); }
  // The nodes offered since the last call that are to be expanded, best first. The first call
  // considers the root. An empty result ends drafting. `unread`: tokens of text that the drafter
  // has put off reading and must read before it can expand anything; there may be many if it has
  // not drafted for a while.
  std::vector<Node> TakeFrontier(int unread = 0);
  // Begins the turn of the next part of a joined drafter: the frontier is the root again, and
  // offers are attributed to that part.
  void NextDrafter();
  // The candidates that the policy keeps in the room that probes leave: ascending, closed under
  // parents, the root included.
  std::vector<Node> Kept() const;
  // [tree().size()] the tokens that each node is expected to add (TreePolicy::Gains).
  std::vector<double> Gains() const { return policy_.Gains(tree_, WithoutProbes()); }
  // Whether the policy weighs a node's gain against measured costs and may decline to draft.
  bool weighs_costs() const { return policy_.MayDecline() && context_.economy != nullptr; }
  int probes() const { return probes_; }
  // The final tree: every probe whose parent is kept, and what the policy keeps in the room that
  // probes leave; parents first, at most max_nodes.
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
  std::vector<int> offered_by_;  // [nodes, or fewer] the last part that offered the node, counted
                                 // from 1
  int probes_ = 0;
  std::vector<int> read_;             // [parts]
  std::vector<double> part_seconds_;  // [parts, or fewer]
  double reading_seconds_ = 0;
};

}  // namespace foretoken
