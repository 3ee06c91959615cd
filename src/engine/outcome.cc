#include "engine/outcome.h"

#include <cmath>
#include <cstdio>

#include "base/json.h"

namespace foretoken {
namespace {

// Smallest difference from autoregressive decoding that the estimate can resolve.
constexpr double kNoticeable = 0.05;

std::string OfText(Guarantee guarantee) {
  switch (guarantee) {
    case Guarantee::kSameText:
      return "text unchanged";
    case Guarantee::kSameLaw:
      return "text drawn from the same distribution";
    case Guarantee::kLossy:
      return "text may differ from decoding without drafts";
  }
  return "";
}

std::string OfSpeed(const DraftOutcome& outcome) {
  if (std::abs(*outcome.speedup - 1) >= kNoticeable) {
    char text[64];
    std::snprintf(text, sizeof text, "about %.*f times as fast", *outcome.speedup < 1.1 ? 2 : 1,
                  *outcome.speedup);
    return text;
  }
  if (!outcome.rested_after) return "about as fast as without a draft";
  if (*outcome.rested_after == 0) return "the draft gave no speed-up before and rested";
  return "the draft gave no speed-up here and rested after " +
         std::to_string(*outcome.rested_after) + (*outcome.rested_after == 1 ? " pass" : " passes");
}

}  // namespace

DraftOutcome OutcomeOf(const SessionCosts& session, Guarantee guarantee) {
  DraftOutcome outcome{.guarantee = guarantee};
  if (session.governors.empty() || !(session.spent_seconds > 0)) return outcome;
  outcome.speedup = session.plain_seconds / session.spent_seconds;
  if (session.rested_after >= 0) outcome.rested_after = session.rested_after;
  return outcome;
}

std::string Sentence(const DraftOutcome& outcome) {
  if (!outcome.speedup) return "";
  return OfSpeed(outcome) + "; " + OfText(outcome.guarantee);
}

Json ToJson(const DraftOutcome& outcome) {
  Json json = {{"speedup", nullptr}, {"rested_after", nullptr}};
  if (outcome.speedup) json["speedup"] = *outcome.speedup;
  if (outcome.rested_after) json["rested_after"] = *outcome.rested_after;
  constexpr const char* kTexts[] = {"unchanged", "same law", "changed"};
  json["text"] = kTexts[static_cast<size_t>(outcome.guarantee)];
  return json;
}

}  // namespace foretoken
