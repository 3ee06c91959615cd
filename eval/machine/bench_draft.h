// foretoken bench draft: what a level of drafting costs, over a plain pass.
#pragma once

#include <CLI/CLI.hpp>

#include "eval/machine/bench.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchDraftArgs {
  ModelArgs model;
  DraftArgs draft;
  bool random = false;  // a draft of random weights in place of a file
  bool parts = false;   // also show which part of a draft takes how long
  int context = 256, depth = 5, repeats = 40;
  std::string json;
};
void AddBenchDraftArgs(CLI::App& app, BenchDraftArgs* args);
// Errors: files, options.
Status BenchDraft(const BenchDraftArgs& args);

}  // namespace foretoken
