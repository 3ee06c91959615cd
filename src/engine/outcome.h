// Summary of what speculation achieved in one answer, for the user.
#pragma once

#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "engine/session_costs.h"
#include "verify/verifier.h"

namespace foretoken {

struct DraftOutcome {
  // Estimated time of autoregressive decoding over the time of this answer, prompt excluded, based
  // on the times of one-row passes in this run. nullopt if costs of drafts were not weighed or
  // nothing was written.
  std::optional<double> speedup;
  // Passes after which drafting stopped for the rest of the answer, if it did.
  std::optional<int> rested_after;
  Guarantee guarantee = Guarantee::kSameText;
};

// The outcome of the session's last answer.
DraftOutcome OutcomeOf(const SessionCosts& session, Guarantee guarantee);

// "about 2.1 times as fast; text unchanged"; empty without a speed-up.
std::string Sentence(const DraftOutcome& outcome);

// {"speedup": x or null, "rested_after": passes or null, "text": "unchanged", "same law" or
// "changed"}.
Json ToJson(const DraftOutcome& outcome);

}  // namespace foretoken
