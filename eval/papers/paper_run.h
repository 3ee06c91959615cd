// Runs the questions of a paper's table.
#pragma once

#include <string>
#include <vector>

#include "eval/papers/bench_paper.h"
#include "eval/papers/paper_cells.h"
#include "eval/papers/paper_drafts.h"
#include "eval/papers/paper_table.h"
#include "eval/spec/spec_run.h"

namespace foretoken {

// A setting, method and tree of a table, by index, and the method of the run that measures them.
struct PaperCombination {
  int setting = 0, method = 0, tree = 0;
  size_t method_index = 0;  // index in PaperPlan::methods
};

struct PaperPlan {
  std::vector<SpecMethod> methods;  // baselines included
  std::vector<PaperCombination> combinations;
  std::vector<SpecQuestion> questions;  // from all parts, interleaved; `task` is the part's index
  std::vector<std::string> notes;       // why rows or columns stay empty
};

// Adds the methods that can be run to `plan`, with their baselines, and a note for each method that
// cannot be run. Errors: a draft's key that drafts.json lacks; none of the speculative methods can
// be run (the message says why).
Status PlanMethods(const PaperTable& table, const PaperDraftFiles& files, PaperPlan* plan);
// Adds the questions of the parts whose files are in `folder` to `plan`, at most `limit` of each
// (0: all). Parts are interleaved in proportion to their sizes, so that a run that ends early has
// covered all of them. Errors: malformed files, no questions.
Status PlanQuestions(const PaperTable& table, const std::string& folder, int limit,
                     PaperPlan* plan);

// Answers the plan's questions with its methods, and moves the questions out of the plan. Errors:
// those of RunSpec; no question could be answered.
Result<SpecRun> RunPaperQuestions(const BenchPaperArgs& args, const LoadedModel& loaded,
                                  const PaperTable& table, PaperPlan& plan);

// Computes the values of a table's cells from a run. Keeps references to its constructor's
// arguments.
class PaperResults {
 public:
  PaperResults(const PaperTable& table, const PaperPlan& plan, const SpecRun& run);

  // Returns a cell's value, or nullopt if it was not measured. `cell`: a result of PaperCell.
  std::optional<PaperValue> At(const PaperKey& cell) const;
  // Returns the number of the part's questions that were answered.
  size_t QuestionsOf(int part) const { return questions_[static_cast<size_t>(part)].size(); }
  // One entry per combination and part, in that order.
  const std::vector<SpecEntry>& entries() const { return entries_; }

 private:
  std::optional<PaperValue> ValueOfPart(const PaperMetric& metric,
                                        const PaperCombination& combination, size_t part) const;

  const PaperTable& table_;
  const PaperPlan& plan_;
  const SpecRun& run_;
  std::vector<size_t> passes_;                  // all passes of the run
  std::vector<std::vector<size_t>> questions_;  // [parts], indices of the run's questions
  std::vector<SpecEntry> entries_;
  std::vector<std::vector<int>> entry_of_;  // [combinations][parts], indices in entries_; -1: none
};

}  // namespace foretoken
