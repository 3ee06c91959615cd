// What the target says after single nodes of a scored tree.
#pragma once

#include <vector>

#include "verify/verifier.h"

namespace foretoken {

// Holds scratch. Thread-safety: one thread.
class NodeReader {
 public:
  explicit NodeReader(Backend& backend) : backend_(backend) {}

  // The position of the token that follows `n`.
  static Pos After(const Scoring& s, Node n) {
    return static_cast<Pos>(s.history.size()) + s.tree.depth(n);
  }
  // The target's distribution after `n`, logits processed: [vocab], or empty where a logit is not a
  // number.
  std::vector<float> Probabilities(const Scoring& s, Node n);
  // Lets the target choose a token after every node it reaches, then follows its choices from the
  // root for as long as the tree contains them: V-2 when greedy, the one-draw rule of
  // V-4 with seeded noise otherwise. Ends with kNoToken at a node of which a logit is not a number.
  Acceptance FollowChoices(const Scoring& s);

 private:
  // What the sampler chooses of row_.
  Token Choose(const Scoring& s, Node n);
  // Fills row_ with the logits after `n`. False where one is not a number.
  bool LoadLogits(const Scoring& s, Node n);
  // Fills history_ with the tokens up to `n`.
  void LoadHistory(const Scoring& s, Node n);

  Backend& backend_;
  std::vector<Token> choices_, history_;
  std::vector<float> row_;
};

}  // namespace foretoken
