// foretoken bench draft: the cost of a level of drafting, relative to a one-row pass of the target.
#pragma once

#include <CLI/CLI.hpp>

#include "eval/machine/bench.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchDraftArgs {
  ModelArgs model;
  DraftArgs draft;
  bool random = false;  // drafts with random weights instead of a file
  bool parts = false;   // also prints how the time of a draft divides among the profile's parts
  int context = 256, depth = 5, repeats = 40;
  std::string json;
};
void AddBenchDraftArgs(CLI::App& app, BenchDraftArgs* args);
// Errors: a file cannot be used; an option is invalid.
Status BenchDraft(const BenchDraftArgs& args);

}  // namespace foretoken
