// Decides how much of a scored tree the target would have written itself.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "tree/candidate_tree.h"
#include "verify/sampling.h"

namespace foretoken {

struct Acceptance {
  std::vector<Node> path;  // accepted nodes from the root down; never empty, path[0] == 0
  Token next = kNoToken;   // what the target writes after them: the bonus, the next root
};

// One sequence's scored tree.
struct Scoring {
  const CandidateTree& tree;
  Tensor logits;                   // [tree.size(), vocab]
  std::span<const Token> history;  // every token of the sequence, the root last
  Sampler& sampler;
};

class Verifier {
 public:
  virtual ~Verifier() = default;
  // True if the text is exactly what the target alone would write from the same seed.
  virtual bool lossless() const = 0;
  // Whether it weighs offers by the distribution they were drawn from (TreeBuilder::OfferDrawn).
  virtual bool NeedsDraws() const { return false; }
  virtual std::vector<Acceptance> Verify(std::span<const Scoring> batch) = 0;
};

// Lets the target choose a token after every node it reaches, then follows its choices from the
// root for as long as the tree contains them: methods.md 1.4 when greedy, the one-draw rule of 1.6
// with seeded noise otherwise. The node at depth d is followed by the token of position root + d
// + 1.
std::unique_ptr<Verifier> NewExactVerifier(Backend& backend);

}  // namespace foretoken
