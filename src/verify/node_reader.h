// What the target says after single nodes of a scored tree.
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

  // What `decide`, which may call the functions below for `s`, accepts of `s`; completed by what
  // else an acceptance says: its log-probabilities, and why a token is missing.
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
  // The target's distribution after `n`, logits masked and processed: [vocab], or empty where a
  // logit is not a number or the filter lets nothing follow.
  std::vector<float> Probabilities(const Scoring& s, Node n);
  // Lets the target choose a token after every node it reaches, then follows its choices from the
  // root for as long as the tree contains them: V-2 when greedy, the one-draw rule of
  // V-4 with seeded noise otherwise. Ends with kNoToken at a node of which a logit is not a number,
  // or after which the filter lets nothing follow.
  Acceptance FollowChoices(const Scoring& s);

 private:
  void Begin(const Scoring& s);
  void Complete(const Scoring& s, Acceptance& a);
  // What the sampler chooses of row_.
  Token Choose(const Scoring& s, Node n);
  // Fills row_ with the logits after `n`, masked by the filter. False where one is not a number or
  // nothing may follow.
  bool LoadLogits(const Scoring& s, Node n);
  // Masks row_. False where nothing may follow.
  bool Mask(const Scoring& s, Node n);
  // The filter's state after `n`; null where there is no filter.
  LogitFilter* FilterAt(const Scoring& s, Node n);
  // Fills history_ with the tokens up to `n`.
  void LoadHistory(const Scoring& s, Node n);

  Backend& backend_;
  std::optional<TreeFilter> filter_;  // of the scoring that is read
  std::vector<Token> choices_, history_;
  std::vector<float> row_;
};

}  // namespace foretoken
