// Drafter, tree and verifier as named on a command line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/generator.h"

namespace foretoken {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// [DraftNoise] values of --draft-noise.
inline constexpr std::string_view kDraftNoiseNames[] = {"auto", "shared", "none"};
inline std::string_view NoiseName(DraftNoise noise) {
  return kDraftNoiseNames[static_cast<size_t>(noise)];
}

struct DraftArgs {
  std::string drafter = "none";
  std::string tree;      // as typed; empty: chosen by TreeOf
  std::string pct_cost;  // the `expand` option of `tree`, if not empty
  int draft_max = -1;    // maximum number of drafted tokens per cycle; below 0: the tree decides
  NamedValues options;   // of the drafter
  DraftNoise noise = DraftNoise::kAuto;
  std::string verifier = "exact";
  NamedValues verifier_options;
  // Whether NewDecoder leaves out which draft `auto` found beside the model.
  bool quiet = false;
};

// Checks the names of drafters, tree and verifier. Errors: an unknown one; the message lists the
// known ones.
Status CheckDraftNames(const DraftArgs& draft);
// Value of --tree besides the registry's names: the tree of the drafter's paper.
inline constexpr char kPaperTree[] = "paper";
// Returns the name of the tree to use; `paper` stands for the tree of the (first) drafter's paper.
// If no tree is named, it is `pct` if pct_cost is given; else `auto` if the verifier guarantees
// that trees do not change the text; else the paper's tree, because with `auto` measured costs
// would change what a seed writes. REQUIRES: names are known.
std::string TreeOf(const DraftArgs& draft);
// Returns what NewTreePolicy builds the tree from: TreeOf with pct_cost. REQUIRES: names are known.
std::string TreeSpecOf(const DraftArgs& draft);
// Whether the tree is sized by measured costs. REQUIRES: names are known.
bool WeighsCosts(const DraftArgs& draft);
// Unless another tree is named, sets the tree, and draft_max if it is not given, to those of the
// (first) drafter's paper. Attribution needs this: it finds only copies that were drafted, so the
// drafter must not skip guesses to save time.
void DraftAsPaper(DraftArgs* draft);
// Warns on standard error if the verifier is lossy.
void WarnIfLossy(const DraftArgs& draft);

}  // namespace foretoken
