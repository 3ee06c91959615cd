// Speculation statistics of one answer, as vLLM reports them in `metrics.speculative_decoding`.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/json_fwd.h"
#include "serve/openai/request.h"

namespace foretoken::openai {

// Counts the passes that verified drafts. The depth of a tree takes the place of the length of
// vLLM's chains: histograms are by depth, while drafted tokens count all nodes. Lengths include the
// bonus token.
class SpeculationLog {
 public:
  // `keeps_steps`: for SpeculationDetail::kDetailed, which lists every pass.
  explicit SpeculationLog(bool keeps_steps) : keeps_steps_(keeps_steps) {}

  // Records a pass that verified a tree of `nodes` drafted tokens, `depth` deep, of which
  // `accepted` were emitted. Passes without drafted tokens are not counted. REQUIRES: 0 <= accepted
  // <= depth <= nodes.
  void Add(int nodes, int depth, int accepted);

  int64_t steps() const { return steps_; }
  int64_t drafted() const { return drafted_; }
  int64_t accepted() const { return accepted_; }
  // By depth, from 1: number of passes that accepted a token at that depth.
  std::vector<int64_t> AcceptedByDepth() const;

  // The JSON block; null if nothing was drafted or `detail` is kNone.
  Json Block(SpeculationDetail detail) const;

 private:
  struct Step {
    int drafted;
    int accepted;
  };

  int most_depth_ = 0;  // maximum depth of all trees
  bool keeps_steps_;
  int64_t steps_ = 0, drafted_ = 0, accepted_ = 0;
  std::vector<int64_t> histogram_;                // number of passes by accepted tokens
  std::map<int, std::vector<int64_t>> by_depth_;  // histogram_ for each depth of the tree
  std::vector<Step> kept_;
};

}  // namespace foretoken::openai
