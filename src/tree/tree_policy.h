// Tree policies decide which nodes are expanded and which ones the target scores. Drafters only
// offer candidates.
//
// A policy is a line in trees.def and a file in this folder. It keeps no state between calls: its
// inputs are the tree of offers, the limits and what the engine measured. Nodes of equal score are
// taken in the order in which they were offered (H-7), so a parent never comes after its child and
// every choice is reproducible.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/option_help.h"
#include "base/result.h"
#include "tree/candidate_tree.h"

namespace foretoken {

struct TreeLimits {
  int max_nodes = 64;  // nodes scored by the target, root included
  int max_depth = 64;  // longest path that can be accepted
  // Maximum number of nodes that are probes (TreeBuilder::AddProbe).
  int max_probes = std::numeric_limits<int>::max();
};

// The costs and gains of one cycle, measured while running and constant during the cycle. `part`:
// an index among the parts of a joined drafter, in the order in which they propose; 0 for any other
// drafter.
class TreeEconomy {
 public:
  virtual ~TreeEconomy() = default;
  virtual int parts() const { return 1; }
  // Seconds of a target pass over `nodes` nodes, root included.
  virtual double VerifySeconds(int nodes) const = 0;
  // Nodes of the largest pass worth trying while larger ones have not been timed.
  virtual int MostNodes() const { return std::numeric_limits<int>::max(); }
  // Seconds that `part` takes to draft `levels` levels. A level is a call of TakeFrontier that
  // returns nodes.
  virtual double DraftSeconds(int part, int levels) const = 0;
  // The probability that the target accepts `n` (not the root), given that it has accepted its
  // parent.
  virtual double Acceptance(const CandidateTree& tree, Node n) const = 0;
  // The acceptance probability of a child of `n` that is not offered yet: for rank 0 of the best
  // guess of `part`, for rank 1 of its second best.
  virtual double NextAcceptance(const CandidateTree& tree, Node n, int part, int rank) const = 0;
  // Whether drafting with `part` is worth reading the `unread` tokens of text that it lacks.
  virtual bool IsWorthReading(int part, int unread) const = 0;
  // How many of the last `unread` tokens of its text `part` should read if it can skip earlier
  // tokens; 0 if it should not draft.
  virtual int TokensWorthReading(int part, int unread) const {
    return IsWorthReading(part, unread) ? unread : 0;
  }
  // Seconds that `part` may take in this cycle beyond a pass without drafting. Bounds the risk of a
  // drafter whose benefit is not established yet.
  virtual double Stake(int /*part*/) const { return std::numeric_limits<double>::infinity(); }
  // Whether `part` should draft a little even though no gain is expected, so that its costs and
  // acceptance stay known.
  virtual bool probing(int part) const = 0;
  // Whether `part` has been losing time, so that the target should not score its offers.
  virtual bool resting(int part) const = 0;
};

// A policy's inputs besides the tree.
struct TreeContext {
  TreeLimits limits;
  const TreeEconomy* economy = nullptr;  // null: nothing was measured
  // For each part up to the current one, its levels so far: calls of TakeFrontier that returned
  // nodes.
  std::vector<int> levels = {0};
  int unread = 0;  // tokens of text that the drafter must read before it can expand anything

  int part() const { return static_cast<int>(levels.size()) - 1; }
};

class TreePolicy {
 public:
  virtual ~TreePolicy() = default;
  // Maximum number of continuations of one node that the policy uses; further offers are dropped.
  virtual int Width() const = 0;
  // Maximum number of nodes that the policy keeps if no limit is set, root included.
  virtual int DefaultNodes() const = 0;
  // Whether the policy uses a TreeEconomy, so that costs must be measured.
  virtual bool UsesEconomy() const { return false; }
  // Whether the policy may decline to draft while no gain is expected, so that a drafter need not
  // read text in advance.
  virtual bool MayDecline() const { return false; }
  // How many of the last `unread` tokens of text the current part should read before it drafts, if
  // it can skip earlier ones.
  virtual int TokensToRead(int unread, const TreeContext& /*context*/) const { return unread; }
  // The policy's own limits, within context.limits, before anything is drafted.
  virtual TreeLimits Limits(const TreeContext& context) const { return context.limits; }
  // The nodes of `fresh` that the drafter should continue, best first; an empty result ends
  // drafting. `fresh`: nodes offered since the last call; at first only the root.
  virtual std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                                   const TreeContext& context) const = 0;
  // The candidates that the target will score: ascending, closed under parents, the root included,
  // at most context.limits.max_nodes.
  virtual std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const = 0;
  // [tree.size()] the tokens that each node is expected to add: the probability that the target
  // accepts it. A node never has more than its parent, and has 0 if it must not be scored at all.
  // Sessions that share a pass compete for its rows by these values.
  virtual std::vector<double> Gains(const CandidateTree& tree, const TreeContext& context) const;
};
// The policy that keeps a single run: the best-scored child at every depth.
const TreePolicy& ChainPolicy();

struct TreeEntry {
  std::string_view name;  // as typed after --tree
  std::string_view summary;
  // Builds the policy. If `options` only collects descriptions, the policy has the default options.
  Result<std::unique_ptr<TreePolicy>> (*make)(OptionFields& options);
};
// All policies, in the order of trees.def.
std::span<const TreeEntry> AllTrees();
// Each policy's name and options.
std::vector<OptionOwner> TreeOptions();
// Builds a policy from "NAME" or "NAME:key=value,key=value". Errors: an unknown name (the message
// lists the known ones), an unknown key or a bad value (the message names it), an unreadable file.
Result<std::unique_ptr<TreePolicy>> NewTreePolicy(std::string_view spec);

}  // namespace foretoken
