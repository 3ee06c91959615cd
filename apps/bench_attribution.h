// foretoken bench attribution: how well copying finds the sources of quotes.
#pragma once

#include <string>
#include <vector>

#include "engine/quoted_answer.h"
#include "runtime.h"

namespace foretoken {

struct AttributionOptions {
  ModelArgs model;
  DraftArgs draft{.drafter = "pld+h"};
  std::string data, json;
  std::vector<int> least = {2, 5, 8};  // shortest copies counted, in tokens: the paper's thresholds
  int limit = 0;                       // questions; 0 = all
};
void AddAttributionArgs(CLI::App& app, AttributionOptions* options);
// One score for each of options.least. Errors: see NewDecoder; a data file that is not QuoteSum's.
Result<std::vector<AttributionScore>> ScoreAttribution(const AttributionOptions& options,
                                                       const LoadedModel& loaded);
// Errors: see Load, NewDecoder; a data file that is not QuoteSum's.
Status BenchAttribution(const AttributionOptions& options);

}  // namespace foretoken
