// What speculation came to in one answer, in a sentence for whoever waited for it.
#pragma once

#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "engine/session_costs.h"
#include "verify/verifier.h"

namespace foretoken {

struct DraftOutcome {
  // Plain decoding's time over this answer's, prompt aside: an estimate from what plain passes took
  // in this run. Nothing where no draft was weighed or nothing was written.
  std::optional<double> speedup;
  // Passes after which drafting ceased for the rest of the answer, if it did.
  std::optional<int> rested_after;
  Guarantee guarantee = Guarantee::kSameText;
};

// Of the answer that was written last.
DraftOutcome OutcomeOf(const SessionCosts& session, Guarantee guarantee);

// "about 2.1 times as fast; text unchanged"; empty where there is nothing to say.
std::string Sentence(const DraftOutcome& outcome);

// {"speedup": x or null, "rested_after": passes or null, "text": "unchanged", "same law" or
// "changed"}.
Json ToJson(const DraftOutcome& outcome);

}  // namespace foretoken
