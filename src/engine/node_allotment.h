// Which nodes of the trees that sessions offer share a pass: those that are expected to gain most,
// as long as what they gain is worth what they cost.
#pragma once

#include <span>
#include <vector>

#include "engine/session_economy.h"
#include "tree/tree_builder.h"

namespace foretoken {

// What one session offers for a pass.
struct NodeOffer {
  const TreeBuilder* builder;
  const SessionEconomy*
      economy;        // where its tree policy weighs costs; null: it takes what it wants
  bool asked = true;  // whether its drafter was asked
  int drafter = 0;    // its number: sessions of one draft together
};

// What is in the pass besides nodes.
struct NodeRoom {
  int nodes = 0;    // that fit at most, roots not counted
  int prompts = 0;  // rows of prompts
};

// [offers] the trees to score. Of a policy that does not weigh costs the tree that it makes alone;
// of the others those nodes that make tokens a second most, all sessions taken together: the
// tokens of all trees, over the time of drafting them and of a pass of so many rows. Prompts take
// rows that a node is added to, but their own time is spent once, whatever is drafted, and so is
// left out. Where there is not room for all, what gains most comes first (TreePolicy::Gains), then
// whole sets of probes; of equals the first session's.
std::vector<CandidateTree> AllotNodes(std::span<const NodeOffer> offers, const NodeRoom& room);

}  // namespace foretoken
