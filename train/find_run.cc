#include "find_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/number_text.h"
#include "base/progress.h"
#include "budget.h"
#include "own_answers.h"
#include "recipe_fields.h"
#include "run_record.h"

namespace foretoken::train {
namespace {

// Returns the value of a field that LengthField names, as on the command line.
std::string LengthText(const Recipe& r, const std::string& field) {
  if (field == "steps") return std::to_string(r.steps);
  if (field == "epochs") return NumberText("%g", r.epochs);
  return DurationText(field == "budget" ? r.budget : r.time_budget);
}

// Compares the run that a checkpoint holds with the command.
Status CheckRun(const Method& method, const CheckpointInfo& info, TrainOptions& options) {
  const RunContinuation run{options.out, options.recipe, method.settings, options.changes,
                            options.min_lr_follows_lr};
  FT_ASSIGN_OR_RETURN(options.differences, CheckContinues(run, info, options.begun));
  const Recipe& recipe = options.recipe;
  const bool steps_are_known = recipe.budget > 0.0 || recipe.epochs <= 0.0;
  return steps_are_known ? CheckTrainsOn(options, recipe, ResumedState(recipe, info)) : Status();
}

}  // namespace

Status CheckTrainsOn(const TrainOptions& options, const Recipe& recipe, const RunState& state) {
  if (options.differences.empty() || ProgressOf(recipe, state) < 1.0) return {};
  const std::string field = LengthField(recipe, state), flag = Flag(field);
  std::vector<RunDifference> changes = options.differences;
  changes.push_back({field, ""});
  return Error{options.out + ": the run has taken " + std::to_string(state.step) + " steps in " +
               FormatDuration(state.seconds) + ", and " + flag + " " + LengthText(recipe, field) +
               " allows no more, so nothing was changed; --change " + FieldList(changes) +
               " with a larger " + flag + " trains further"};
}

Status FindRun(const Method& method, TrainOptions& options) {
  const std::string checkpoint = CheckpointPath(options.out);
  std::error_code fault;
  options.kept = {.tokenizer = !options.force && std::filesystem::exists(checkpoint, fault)};
  if (options.rank > 0) return {};  // only the leader compares and removes
  FT_ASSIGN_OR_RETURN(options.begun, RecordRun(options.recipe, options.data_base));
  if (options.kept.tokenizer) {
    FT_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(options.out));
    FT_RETURN_IF_ERROR(CheckRun(method, info, options));
    const bool data_may_differ =
        std::ranges::find(options.changes, "data") != options.changes.end();
    options.kept.corpus = info.begun.empty() && !data_may_differ;
    if (info.begun.empty() && !options.quiet) {
      std::fprintf(stderr,
                   "%s: was written by an older version, which did not record the contents of data "
                   "and target; they are not compared\n",
                   checkpoint.c_str());
    }
  } else if (options.force) {
    for (const std::string& path : {checkpoint, OwnAnswersPath(options.out)}) {
      std::filesystem::remove(path, fault);
      if (fault) return Error{path + ": cannot remove: " + fault.message()};
    }
  }
  return {};
}

}  // namespace foretoken::train
