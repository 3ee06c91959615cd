// Takes a given text for what the target writes, to see what drafts make of it.
#pragma once

#include <utility>
#include <vector>

#include "verify/verifier.h"

namespace foretoken {

class ForcedVerifier final : public Verifier {
 public:
  // `text`: every token from position 0 on; what is written stands in it. Of one sequence,
  // without a filter: nothing is chosen, and log-probabilities are left out.
  explicit ForcedVerifier(std::vector<Token> text) : text_(std::move(text)) {}

  std::vector<Acceptance> Verify(std::span<const Scoring> batch) override;

 private:
  std::vector<Token> text_;
};

}  // namespace foretoken
