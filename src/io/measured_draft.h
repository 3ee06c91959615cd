// Acceptance of a draft in the target's own answers, as measured by `bench spec --json`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct MeasuredDraft {
  double tau = 0.0;  // tokens per cycle in greedy chains (tau_micro)
  int64_t questions = 0;
  // acceptance[d]: fraction of guesses at depth d + 1 that were accepted, of cycles whose first d
  // guesses were; ends before the first depth with too few guesses.
  std::vector<float> acceptance;
};

// Reads the result of greedy chains by `method` from the file at `path`. Errors: there is no such
// result, or more than one; too few guesses at depth 1.
Result<MeasuredDraft> ReadMeasuredDraft(const std::string& path, const std::string& method);

}  // namespace foretoken
