// Acceptance of a draft in the target's own answers, as measured by `bench spec --json`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct MeasuredDraft {
  double tau = 0.0;  // tokens a cycle in greedy chains (tau_micro)
  int64_t questions = 0;
  // acceptance[d]: share of guesses at depth d + 1 that were accepted, of cycles that got that
  // deep; ends where too few guesses were judged.
  std::vector<float> acceptance;
};

// Reads the result of greedy chains by `method` from the file at `path`. Errors: no such result, or
// several; too few guesses.
Result<MeasuredDraft> ReadMeasuredDraft(const std::string& path, const std::string& method);

}  // namespace foretoken
