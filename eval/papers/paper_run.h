// Asks the questions of a paper's table.
#pragma once

#include <string>
#include <vector>

#include "eval/papers/bench_paper.h"
#include "eval/papers/paper_cells.h"
#include "eval/papers/paper_drafts.h"
#include "eval/papers/paper_table.h"
#include "eval/spec/spec_run.h"

namespace foretoken {

// Which of a table's methods, in which setting with which tree, is which of a run's.
struct PaperCombination {
  int setting = 0, method = 0, tree = 0;
  size_t spec = 0;
};

// What will be asked, and what will not.
struct PaperPlan {
  std::vector<SpecMethod> methods;
  std::vector<PaperCombination> combinations;
  std::vector<SpecQuestion> questions;  // of all parts, in turn; `task` is the part's place
  std::vector<std::string> notes;       // why rows or columns stay empty
};

// The methods whose files there are. Errors: a draft's key that drafts.json does not have; that no
// method can be run, and why.
Status PlanMethods(const PaperTable& table, const PaperDraftFiles& files, PaperPlan* plan);
// The questions of the parts whose files are in `folder`, at most `limit` of each (0: all), taken
// in turn, so that a run that ends early has asked of all. Errors: malformed files, no questions.
Status PlanQuestions(const PaperTable& table, const std::string& folder, int limit,
                     PaperPlan* plan);

// Asks the plan's questions, which it takes, with the plan's methods. Errors: see RunSpec; that no
// question could be answered.
Result<SpecRun> AskPaper(const BenchPaperArgs& args, const LoadedModel& loaded,
                         const PaperTable& table, PaperPlan& plan);

// A run's figures by cell.
class PaperResults {
 public:
  PaperResults(const PaperTable& table, const PaperPlan& plan, const SpecRun& run);

  // Nothing where it was not run. `cell`: of PaperCell.
  std::optional<PaperValue> At(const PaperKey& cell) const;
  // How many questions of the part were answered.
  size_t QuestionsOf(int part) const { return questions_[static_cast<size_t>(part)].size(); }
  // One entry per combination and part, in that order.
  const std::vector<SpecEntry>& entries() const { return entries_; }

 private:
  std::optional<PaperValue> OfPart(const PaperMetric& metric, const PaperCombination& combination,
                                   size_t part) const;

  const PaperTable& table_;
  const PaperPlan& plan_;
  const SpecRun& run_;
  std::vector<size_t> passes_;                  // of the run, all
  std::vector<std::vector<size_t>> questions_;  // [parts], of the run
  std::vector<SpecEntry> entries_;
  std::vector<std::vector<int>> entry_of_;  // [combinations][parts], -1: no questions
};

}  // namespace foretoken
