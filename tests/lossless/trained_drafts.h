// Shared parts of the tests of trained drafters: the target's hidden states computed from scratch,
// and comparisons of a drafted tree with reference logits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "draft/weights_testing.h"
#include "model/scoring_for_test.h"
#include "rig.h"

namespace foretoken {

// Hidden state `index` (Hugging Face's count, S-2) of `tokens`, computed in one pass over an empty
// cache. [tokens, hidden]
inline std::vector<float> StatesOf(Target& target, std::span<const Token> tokens, int index) {
  const auto cache = target.model->NewCache(256, DType::kF32);
  const int count = static_cast<int>(tokens.size());
  std::vector<float> states(tokens.size() * static_cast<size_t>(target.model->config().hidden));
  const SequenceRows rows{cache.get(), {tokens.begin(), tokens.end()}, ChainParents(count)};
  Taps taps;
  Score(*target.model, std::span(&rows, 1), {.hidden = {index}}, std::span(&taps, 1));
  target.backend->Download(taps.Hidden(index), states.data());
  return states;
}

// The tokens on the path from the root, which is left out, to `n`.
inline std::vector<Token> PathTo(const CandidateTree& tree, Node n) {
  std::vector<Token> path;
  for (Node up = n; up != 0; up = tree.parent(up)) path.insert(path.begin(), tree.token(up));
  return path;
}

// Expects the children of `n` to be the top-k of `logits`, and each log_q to be the token's
// log-probability.
inline void ExpectLikeliestChildren(const CandidateTree& tree, Node n,
                                    std::span<const float> logits) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(x);
  int children = 0, better = 0;
  float worst = 1e9f;
  for (Node c = tree.FirstChild(n); c != kNoNode; c = tree.NextSibling(c), ++children) {
    const float logit = logits[static_cast<size_t>(tree.token(c))];
    ASSERT_NEAR(tree.log_q(c), logit - std::log(sum), 1e-5) << "node " << c;
    worst = std::min(worst, logit);
  }
  for (const float x : logits) better += x >= worst ? 1 : 0;
  ASSERT_EQ(better, children) << "a likelier token was left out";
}

// The description of `target` that the makers of random drafts need. `weights`: those of the
// target.
inline TestTarget MadeFor(const Target& target, WeightSource& weights) {
  return {target.model->config(),
          *target.tokenizer,
          weights,
          *target.backend,
          [] {
            return std::vector<std::vector<Token>>{{1, 2, 3, 4}};
          },
          ""};
}

// Decodes a text and expects the children of every drafted node to be the top-k of logits computed
// from scratch. `logits_after`: the logits after `tokens`, which end in the root, and then `path`.
// Returns the number of nodes compared.
inline int ExpectDraftsFromScratch(
    Rig& rig,
    const std::function<std::vector<float>(std::span<const Token> tokens,
                                           std::span<const Token> path)>& logits_after,
    const SamplingParams& sampling = {}) {
  const auto session = rig.Start(sampling);
  EXPECT_TRUE(rig.generator().Prefill(*session, RepetitivePrompt(2, 30, 97), 24).ok());
  Session* batch[] = {session.get()};
  int compared = 0;
  for (; !session->done(); Step(rig.generator(), batch)) {
    const CandidateTree tree = (*rig.generator().Draft(batch))[0];
    for (Node n = 0; n < tree.size(); ++n) {
      if (tree.FirstChild(n) == kNoNode) continue;
      ExpectLikeliestChildren(tree, n, logits_after(session->tokens, PathTo(tree, n)));
      if (::testing::Test::HasFatalFailure()) return compared;
      ++compared;
    }
  }
  return compared;
}

}  // namespace foretoken
