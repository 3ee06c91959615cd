// What fills the cells of a paper's table.
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
  std::vector<std::string> notes;
  Json results = Json::array();  // what else the JSON should have
  bool broken = false;           // a method that promises the plain text wrote another
};

// Answers the parts' questions plainly and with every method.
Result<PaperOutcome> EvaluateAnswers(const BenchPaperArgs& args, const LoadedModel& loaded,
                                     const PaperTable& table, const PaperDraftFiles& files);
// How well copying finds the sources of quotes; a method's option `min` is the shortest copy that
// counts, in tokens.
Result<PaperOutcome> EvaluateAttribution(const BenchPaperArgs& args, const LoadedModel& loaded,
                                         const PaperTable& table, const PaperDraftFiles& files);
// How often a method's lists hold the words that the model writes: metrics head_topN:STEP. All
// parts are about the first one's questions.
Result<PaperOutcome> EvaluateRanks(const BenchPaperArgs& args, const LoadedModel& loaded,
                                   const PaperTable& table, const PaperDraftFiles& files);

}  // namespace foretoken
