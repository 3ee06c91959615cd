// foretoken bench attribution: measures how well a copying drafter attributes quotes to the
// passages that they come from.
#pragma once

#include <string>
#include <vector>

#include "insight/quoted_answer.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct AttributionOptions {
  ModelArgs model;
  DraftArgs draft{.drafter = "pld+h"};
  std::string data, json;
  // Minimum copy lengths in tokens; each is scored separately (PLD+, appendix D).
  std::vector<int> min_tokens = {2, 5, 8};
  int limit = 0;  // maximum number of questions, evenly spaced in the file; 0: all
};
void AddAttributionArgs(CLI::App& app, AttributionOptions* options);
// Scores over all questions.
struct AttributionScores {
  std::vector<AttributionScore> by_min_tokens;  // one for each of options.min_tokens
  int asked = 0;
  int skipped = 0;  // too long, or decoding the tokens does not restore the text
  std::string QuestionSummary() const;  // "265 questions asked, 2 skipped: ..."
};
// Scores a loaded model. Errors: those of NewDecoder, Generator::Prefill and Generator::Step; a
// data file that is unreadable or empty, or has a line without "turns" or "reference".
Result<AttributionScores> ScoreAttribution(const AttributionOptions& options,
                                           const LoadedModel& loaded);
// Loads the model, scores it, and prints and writes the scores. Errors: those of CheckDraftNames,
// Load and ScoreAttribution; an unwritable JSON file.
Status BenchAttribution(AttributionOptions options);

}  // namespace foretoken
