#include "find_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "own_answers.h"
#include "run_record.h"

namespace foretoken::train {

Status FindRun(const Method& method, TrainOptions& options) {
  const std::string checkpoint = CheckpointPath(options.out);
  std::error_code fault;
  options.kept = {.tokenizer = !options.force && std::filesystem::exists(checkpoint, fault)};
  if (options.rank > 0) return {};  // only the leader compares and removes
  FT_ASSIGN_OR_RETURN(options.begun, RecordRun(options.recipe, options.data_base));
  if (options.kept.tokenizer) {
    FT_ASSIGN_OR_RETURN(const CheckpointInfo info, ReadCheckpointInfo(options.out));
    const RunContinuation run{options.out, options.recipe, method.settings, options.changes};
    FT_RETURN_IF_ERROR(CheckContinues(run, info, options.begun));
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
