// Which nodes are worth expanding and which the target should score. Drafters only offer.
//
// A policy is a line in trees.def and a file here. It keeps nothing between calls: all it knows is
// the tree of offers, the limits and what the engine measured. Wherever scores are compared, equals
// are taken in the order they were offered in (H-7), so a parent never comes after its
// child and every choice is repeatable.
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
  int max_depth = 64;  // longest run that can be accepted
  // Of those nodes, the most that serve no guess (TreeBuilder::AddProbe).
  int max_probes = std::numeric_limits<int>::max();
};

// What one cycle's work costs and what its nodes are worth, learned while running. Constant during
// a cycle. `part`: of a joined drafter, in the order its parts speak in; 0 for any other drafter.
class TreeEconomy {
 public:
  virtual ~TreeEconomy() = default;
  virtual int parts() const { return 1; }
  // Seconds of a target pass over `nodes` nodes, root included.
  virtual double VerifySeconds(int nodes) const = 0;
  // Nodes of the largest pass worth trying while larger ones were never timed.
  virtual int MostNodes() const { return std::numeric_limits<int>::max(); }
  // Seconds that `part` takes to draft `levels` levels: that many answers to TakeFrontier.
  virtual double DraftSeconds(int part, int levels) const = 0;
  // The probability that the target takes `n` (not the root) once it has taken its parent.
  virtual double Acceptance(const CandidateTree& tree, Node n) const = 0;
  // The probability of a child of `n` that `part` has not offered yet: its best for rank 0, its
  // second best for rank 1.
  virtual double NextAcceptance(const CandidateTree& tree, Node n, int part, int rank) const = 0;
  // Whether `part` had better read the `unread` tokens of text that it lacks than not draft.
  virtual bool IsWorthReading(int part, int unread) const = 0;
  // How many of the last `unread` tokens of text `part` should read, where it may leave out those
  // before them; 0 where it should not draft.
  virtual int TokensWorthReading(int part, int unread) const {
    return IsWorthReading(part, unread) ? unread : 0;
  }
  // Seconds beyond those of a plain pass that `part` may take in this cycle: what is risked on a
  // drafter that has yet to prove itself.
  virtual double Stake(int /*part*/) const { return std::numeric_limits<double>::infinity(); }
  // Whether `part` should draft a little even where that does not seem to pay, to learn.
  virtual bool probing(int part) const = 0;
  // Whether `part` has been losing time, so that the target had better not score what it offers.
  virtual bool resting(int part) const = 0;
};

// What a policy decides by, besides the tree.
struct TreeContext {
  TreeLimits limits;
  const TreeEconomy* economy = nullptr;  // null: nothing was measured
  // By part that has spoken: its answers to TakeFrontier so far that were not empty.
  std::vector<int> levels = {0};
  int unread = 0;  // tokens of text the drafter would have to read before it could expand anything

  int part() const { return static_cast<int>(levels.size()) - 1; }
};

class TreePolicy {
 public:
  virtual ~TreePolicy() = default;
  // Continuations of one node it has a use for; offers are cut to that many.
  virtual int Width() const = 0;
  // Nodes it keeps when nobody sets a limit, root included.
  virtual int DefaultNodes() const = 0;
  // Whether it looks at a TreeEconomy, so that costs are worth measuring.
  virtual bool UsesEconomy() const { return false; }
  // Whether it may draft nothing for as long as that does not pay, so that a drafter need not read
  // what it would not be asked about.
  virtual bool MayDecline() const { return false; }
  // How many of the last `unread` tokens of text the drafter that speaks should read before it
  // drafts, where it may leave out those before them.
  virtual int TokensToRead(int unread, const TreeContext& /*context*/) const { return unread; }
  // The limits it sets itself, within context.limits, before anything is drafted.
  virtual TreeLimits Limits(const TreeContext& context) const { return context.limits; }
  // Of `fresh` (nodes offered since the last call; first the root alone), those the drafter should
  // continue, best first. Empty ends drafting.
  virtual std::vector<Node> Expand(const CandidateTree& tree, std::span<const Node> fresh,
                                   const TreeContext& context) const = 0;
  // The candidates (ascending, closed under parents, the root included, at most
  // context.limits.max_nodes) that the target will score.
  virtual std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const = 0;
  // [tree.size()] the tokens that each node is expected to add: the probability that the target
  // takes it. Never more than the parent's; 0 for what is not to be scored at any price. By it
  // sessions that share a pass compete for its rows.
  virtual std::vector<double> Gains(const CandidateTree& tree, const TreeContext& context) const;
};
// One run: the best-scored child at every depth.
const TreePolicy& ChainPolicy();

struct TreeEntry {
  std::string_view name;  // as typed after --tree
  std::string_view summary;
  // With `options` that describe, the tree of their defaults.
  Result<std::unique_ptr<TreePolicy>> (*make)(OptionFields& options);
};
std::span<const TreeEntry> AllTrees();
// Each one's name and options.
std::vector<OptionOwner> TreeOptions();
// Reads "NAME" or "NAME:key=value,key=value". Errors: unknown name (lists the known ones), an
// unknown key or bad value (names it), an unreadable file.
Result<std::unique_ptr<TreePolicy>> NewTreePolicy(std::string_view spec);

}  // namespace foretoken
