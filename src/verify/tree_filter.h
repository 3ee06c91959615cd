// The states of a filter after the nodes of a tree.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tree/path_filter.h"
#include "verify/logit_filter.h"

namespace foretoken {

// Creates a node's state on first use. Thread-safety: one thread.
class TreeFilter final : public PathFilter {
 public:
  // `root`: the state after the root; copied.
  explicit TreeFilter(const LogitFilter& root) { states_.push_back({true, root.Fork()}); }

  bool Allows(const CandidateTree& tree, Node node, Token token) override;
  bool Mask(const CandidateTree& tree, Node node, std::span<float> logits) override;
  // The state after `node`; null if the filter forbids a token on its path.
  LogitFilter* At(const CandidateTree& tree, Node node);

 private:
  struct State {
    bool is_known = false;
    std::unique_ptr<LogitFilter> filter;  // null: forbidden
  };
  std::vector<State> states_;  // [nodes, or fewer]
};

}  // namespace foretoken
