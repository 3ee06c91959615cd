// A hand-written sequence as a drafter observes it, for tests of a drafter's exact proposals.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {

// Keeps all nodes in order, as far as the limits allow, and expands them all.
class KeepAllPolicy final : public TreePolicy {
 public:
  explicit KeepAllPolicy(int width = 64) : width_(width) {}
  int Width() const override { return width_; }
  int DefaultNodes() const override { return 64; }
  std::vector<Node> Expand(const CandidateTree&, std::span<const Node> fresh,
                           const TreeContext&) const override {
    return {fresh.begin(), fresh.end()};
  }
  std::vector<Node> Keep(const CandidateTree& tree, const TreeContext& context) const override {
    std::vector<Node> kept(static_cast<size_t>(std::min(tree.size(), context.limits.max_nodes)));
    std::iota(kept.begin(), kept.end(), 0);
    return kept;
  }

 private:
  int width_;
};

class Conversation {
 public:
  explicit Conversation(Drafter& drafter) : drafter_(drafter), state_(drafter.NewState()) {}

  DraftState& state() { return *state_; }
  Token root() const { return root_; }

  // Observes a prompt, whose last token becomes the root.
  void Prompt(std::span<const Token> tokens) {
    const auto given = tokens.first(tokens.size() - 1);
    const CandidateTree tree = CandidateTree::Chain(given);
    std::vector<Node> path(given.size());
    std::iota(path.begin(), path.end(), 0);
    Observe(tree, path, given, tokens.back(), {}, /*prompt=*/true);
  }

  CandidateTree Propose(const TreeLimits& limits = {}, const SamplingParams& sampling = {},
                        const TreePolicy& policy = KeepAll()) {
    TreeBuilder builder(root_, limits, policy);
    const DraftSlot slot{*state_, builder, sampling};
    EXPECT_TRUE(drafter_.Propose(std::span(&slot, 1)).ok());
    return builder.Finish();
  }

  // Observes that the target wrote `written`: it accepted the longest path of `tree` with which
  // `written` begins, and wrote the remaining tokens in passes without drafts. The last token
  // becomes the root. `choices`: the target's choice after each node.
  void Write(const CandidateTree& tree, std::span<const Token> written,
             std::span<const Token> choices = {}) {
    std::vector<Node> path{0};
    std::vector<Token> committed{root_};
    size_t next = 0;
    for (Node n = tree.Child(0, written[0]); n != kNoNode && next + 1 < written.size();
         n = tree.Child(n, written[next])) {
      path.push_back(n);
      committed.push_back(written[next++]);
    }
    Observe(tree, path, committed, written[next], choices, /*prompt=*/false);
    if (++next < written.size()) Write(CandidateTree(root_), written.subspan(next));
  }

 private:
  static const TreePolicy& KeepAll() {
    static const KeepAllPolicy policy;
    return policy;
  }

  void Observe(const CandidateTree& tree, std::span<const Node> path,
               std::span<const Token> committed, Token next, std::span<const Token> choices,
               bool prompt) {
    Taps taps;
    taps.SetAnswers(choices);
    const Observation seen{*state_, committed, next, tree, path, taps, prompt, /*may_read=*/true};
    EXPECT_TRUE(drafter_.Observe(std::span(&seen, 1)).ok());
    root_ = next;
  }

  Drafter& drafter_;
  std::unique_ptr<DraftState> state_;
  Token root_ = kNoToken;
};

// "0:7 0:8 1:9": each node below the root as parent:token.
inline std::string Shown(const CandidateTree& tree) {
  std::string text;
  for (Node n = 1; n < tree.size(); ++n) {
    text.append(n == 1 ? "" : " ").append(std::to_string(tree.parent(n)));
    text.append(":").append(std::to_string(tree.token(n)));
  }
  return text;
}

}  // namespace foretoken
