// What `bench spec --json` found of a draft: how its guesses fare in the target's own answers.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace foretoken {

struct MeasuredDraft {
  double tau = 0.0;  // tokens a cycle, greedy, in chains (tau_micro)
  int64_t questions = 0;
  // acceptance[d]: share of guesses at depth d + 1 that came true, of cycles that got there; down
  // to where guesses were judged too rarely.
  std::vector<float> acceptance;
};

// The result of greedy chains by `method` in the file at `path`. Errors: no such result, or
// several; too few guesses.
Result<MeasuredDraft> ReadMeasuredDraft(const std::string& path, const std::string& method);

}  // namespace foretoken
