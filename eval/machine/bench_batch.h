// foretoken bench batch: many texts at once, over one at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BatchOptions {
  ModelArgs model;
  DraftArgs draft{.drafter = "auto"};
  std::string data, json;
  std::vector<int> sessions = {1, 4, 8, 16, 32};  // that are written at once
  int requests = 0;                               // 0: two for each session
  int new_tokens = 64, shortest = 20, longest = 4000;
  int rows = 0, memory = 2048;  // of a pass, MiB: see SchedulerOptions
  int repeats = 1;
  int shared_prefix = 0;  // tokens that all prompts begin with; above 0: what keeping them saves
  int sample = 50;        // requests that are also answered without kept texts
};
void AddBatchArgs(CLI::App& app, BatchOptions* options);
// Errors: files, options; an answer that depends on what was written beside it.
Status BenchBatch(const BatchOptions& options);

}  // namespace foretoken
