// Statistics of a run as JSON, the format of `generate --stats`.
#pragma once

#include <span>
#include <string_view>

#include "base/json_fwd.h"
#include "base/types.h"
#include "draft/drafter.h"
#include "engine/outcome.h"
#include "engine/stats.h"

namespace foretoken {

struct RunReport {
  int prompt_tokens = 0;
  std::span<const Token> tokens;  // new tokens, up to and including a stop token
  struct {
    double load = 0, prefill = 0, draft = 0, verify = 0, other = 0;
  } seconds;
  std::span<const Cycle> cycles;
  std::string_view verifier = "exact";
  bool lossless = true;            // whether the verifier preserves text or distribution
  std::span<const Tally> tallies;  // the drafter's
  DraftOutcome outcome;

  // New tokens a second: the first over all time after loading, the second over the time after the
  // prompt.
  double TokensPerSecond() const;
  double GenerationTokensPerSecond() const;
};

// {"verifier", "lossless", "prompt_tokens", "new_tokens", "tokens", "seconds": {"load", "prefill",
// "draft", "verify", "other"}, "tokens_per_second", "gen_only_tokens_per_second", "cycles",
// "n_acc", "written", "nodes", "max_depth", "drafted_depth" (the last five are lists over cycles),
// "tau_micro", "tau_macro", "acc_only", "alpha_edd", "alpha_lev", "alpha_tok", "alpha_n",
// "alpha_n_reached", "ECE", "E_spd", "VTP", "GSTP", "outcome" (see outcome.h) if drafts were
// weighed, "tallies" {name: {"count", "of"}} if the drafter has any}.
Json ToJson(const RunReport& report);

// Adds the metrics from "tau_micro" on, under their own names.
void AddMetrics(const Metrics& metrics, Json& json);

}  // namespace foretoken
