// The evaluators: one function for each kind of table (PaperEvaluator), which computes its cells.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "eval/papers/bench_paper.h"
#include "eval/papers/paper_drafts.h"
#include "eval/papers/paper_page.h"

namespace foretoken {

struct PaperOutcome {
  PaperCells cells;
  std::vector<std::string> notes;  // PaperHeader::notes
  Json results = Json::array();    // "results" of the JSON file
  // Whether an answer differs from the baseline's although its verifier promises the same text.
  bool broken = false;
};

// Answers the questions of all parts of the table (PaperPart) with every method and its baseline.
// Errors: those of PlanMethods, PlanQuestions and RunPaperQuestions.
Result<PaperOutcome> EvaluateAnswers(const BenchPaperArgs& args, const LoadedModel& loaded,
                                     const PaperTable& table, const PaperDraftFiles& files);
// Measures how well a copying drafter attributes quotes to the passages that they come from, on the
// first part's questions. A method's option `min` is the minimum length of a copy, in tokens.
Result<PaperOutcome> EvaluateAttribution(const BenchPaperArgs& args, const LoadedModel& loaded,
                                         const PaperTable& table, const PaperDraftFiles& files);
// Measures how often a method's top-N guesses at distance STEP + 1 from the root contain the token
// that the baseline writes there: metrics head_topN:STEP. Every part uses the first part's
// questions.
Result<PaperOutcome> EvaluateRanks(const BenchPaperArgs& args, const LoadedModel& loaded,
                                   const PaperTable& table, const PaperDraftFiles& files);

}  // namespace foretoken
