// Reads the target's logits and choices at single nodes of a scored tree.
#pragma once

#include <optional>
#include <vector>

#include "verify/tree_filter.h"
#include "verify/verifier.h"

namespace foretoken {

// Holds scratch. Thread-safety: one thread.
class NodeReader {
 public:
  explicit NodeReader(Backend& backend) : backend_(backend) {}

  // Returns the acceptance of `s` that `decide` returns, completed with log-probabilities and with
  // the reason for a missing token. `decide` may call the functions below for `s`.
  template <typename Decide>
  Acceptance Read(const Scoring& s, const Decide& decide) {
    Begin(s);
    Acceptance a = decide();
    Complete(s, a);
    return a;
  }

  // The position of the token that follows `n`.
  static Pos After(const Scoring& s, Node n) {
    return static_cast<Pos>(s.history.size()) + s.tree.depth(n);
  }
  // The target's distribution after `n` from masked and processed logits: [vocab], or empty if a
  // logit is NaN or the filter lets nothing follow.
  std::vector<float> Probabilities(const Scoring& s, Node n);
  // Follows the target's choices from the root for as long as the tree contains them. This is V-2
  // if sampling is greedy, otherwise the one-draw rule of V-4 with seeded noise. The path ends, and
  // `next` is kNoToken, at a node that has a NaN logit or after which the filter allows no token.
  Acceptance FollowChoices(const Scoring& s);

 private:
  void Begin(const Scoring& s);
  void Complete(const Scoring& s, Acceptance& a);
  // The sampler's choice from row_.
  Token Choose(const Scoring& s, Node n);
  // Fills row_ with the logits after `n`, masked by the filter. Returns false if a logit is NaN or
  // the filter lets nothing follow.
  bool LoadLogits(const Scoring& s, Node n);
  // Masks row_. Returns false if the filter lets nothing follow.
  bool Mask(const Scoring& s, Node n);
  // The filter's state after `n`; null if there is no filter.
  LogitFilter* FilterAt(const Scoring& s, Node n);
  // Fills history_ with the tokens up to `n`.
  void LoadHistory(const Scoring& s, Node n);

  Backend& backend_;
  std::optional<TreeFilter> filter_;  // of the Scoring being read
  std::vector<Token> choices_, history_;
  std::vector<float> row_;
};

}  // namespace foretoken
