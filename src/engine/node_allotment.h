// Division of a pass's rows among the trees of several sessions: the nodes with the highest
// expected gain are scored, as long as the gain exceeds the cost.
#pragma once

#include <span>
#include <vector>

#include "engine/session_economy.h"
#include "tree/tree_builder.h"

namespace foretoken {

// One session's candidates for a pass.
struct NodeOffer {
  const TreeBuilder* builder;
  const SessionEconomy* economy;  // null: its tree policy weighs no costs
  bool asked = true;              // whether its drafter was called
  int drafter = 0;                // its number: sessions of one drafter are drafted in one call
};

// Room for nodes in a pass.
struct NodeRoom {
  int nodes = 0;    // maximum number of nodes that fit, roots not counted
  int prompts = 0;  // prompt rows
};

// Returns [offers] the trees to score. A policy that weighs no costs gets the tree that it would
// build alone. From the nodes of all other policies together, it takes those that maximise tokens a
// second: expected tokens of all trees, divided by the time of drafting them and of the resulting
// pass. Prompt rows count towards the rows that a node is added to, but their own time is left out,
// because it is spent in any case. If not everything fits, nodes with the highest gain come first
// (TreePolicy::Gains), then probes; a session's probes are taken all together or not at all. Ties
// go to the earlier session.
std::vector<CandidateTree> AllotNodes(std::span<const NodeOffer> offers, const NodeRoom& room);

}  // namespace foretoken
