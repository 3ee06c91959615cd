// What drafting did for one answer, as vLLM reports it in `metrics.speculative_decoding`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/json_fwd.h"
#include "serve/openai/request.h"

namespace foretoken::openai {

// Counts the passes that verified drafts. A tree's depth stands for the length of vLLM's chains:
// histograms are by depth, while drafted tokens are all nodes. Lengths include the bonus token.
class SpeculationLog {
 public:
  // `keeps_steps`: for SpeculationDetail::kDetailed, which lists every pass.
  explicit SpeculationLog(bool keeps_steps) : keeps_steps_(keeps_steps) {}

  // A pass that verified a tree of `nodes` guesses, `depth` deep, of which `accepted` became text.
  // Passes without guesses are not counted. REQUIRES: 0 <= accepted <= depth <= nodes.
  void Add(int nodes, int depth, int accepted);

  int64_t steps() const { return steps_; }
  int64_t drafted() const { return drafted_; }
  int64_t accepted() const { return accepted_; }
  // By depth, from 1: passes that accepted a guess there.
  std::vector<int64_t> AcceptedByDepth() const;

  // The block; null where nothing was drafted, or `detail` is kNone.
  Json Block(SpeculationDetail detail) const;

 private:
  struct Step {
    int drafted;
    int accepted;
  };

  int most_depth_ = 0;  // of all trees
  bool keeps_steps_;
  int64_t steps_ = 0, drafted_ = 0, accepted_ = 0;
  std::vector<int64_t> histogram_;                // passes by what they accepted
  std::map<int, std::vector<int64_t>> by_depth_;  // the same for each depth of the tree
  std::vector<Step> kept_;
};

}  // namespace foretoken::openai
