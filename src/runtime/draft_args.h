// What drafts, in which trees, and who verifies, as a command line names them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/generator.h"

namespace foretoken {

using NamedValues = std::vector<std::pair<std::string, std::string>>;

// By DraftNoise, as typed after --draft-noise.
inline constexpr std::string_view kDraftNoiseNames[] = {"auto", "shared", "none"};
inline std::string_view NoiseName(DraftNoise noise) {
  return kDraftNoiseNames[static_cast<size_t>(noise)];
}

struct DraftArgs {
  std::string drafter = "none";
  std::string tree;      // as typed; empty: see TreeOf
  std::string pct_cost;  // the expand option of `tree`, if not empty
  int draft_max = -1;    // below 0: as many as the tree wants
  NamedValues options;
  DraftNoise noise = DraftNoise::kAuto;
  std::string verifier = "exact";
  NamedValues verifier_options;
};

// Errors: no such drafter, tree or verifier (lists the known ones).
Status CheckDraftNames(const DraftArgs& draft);
// Beside the registry's trees: another one for each drafter.
inline constexpr char kPaperTree[] = "paper";
// The tree that is meant: `paper` is that of the (first) drafter's paper. By default `auto` where
// the verifier lets no tree change the text, the paper's elsewhere, as costs measured anew would
// otherwise change what a seed writes. The names must be known.
std::string TreeOf(const DraftArgs& draft);
// Has the (first) drafter draft as in its paper where nothing else was asked for: what was not
// drafted is not found, so attribution wants every guess.
void DraftAsPaper(DraftArgs* draft);
// Says so on standard error where the verifier is lossy.
void WarnIfLossy(const DraftArgs& draft);

}  // namespace foretoken
