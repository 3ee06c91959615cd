// A verifier that treats a given text as the target's choices, to measure how much of a draft
// agrees with it.
#pragma once

#include <utility>
#include <vector>

#include "verify/verifier.h"

namespace foretoken {

class ForcedVerifier final : public Verifier {
 public:
  // `text`: every token from position 0 on; it must cover all positions that are verified. Verify
  // takes a batch of one sequence, which must have no filter. It samples nothing and returns no
  // log-probabilities.
  explicit ForcedVerifier(std::vector<Token> text) : text_(std::move(text)) {}

  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override;

 private:
  std::vector<Token> text_;
};

}  // namespace foretoken
