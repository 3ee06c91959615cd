// foretoken bench batch: throughput and latency of many texts decoded simultaneously, compared with
// decoding one at a time.
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
  // Numbers of concurrent texts, a measurement for each; with shared_prefix only the last is used.
  std::vector<int> sessions = {1, 4, 8, 16, 32};
  int requests = 0;  // 0: two for each session; 2000 with shared_prefix
  // Tokens of an answer, of the shortest and of the longest prompt.
  int new_tokens = 64, shortest_prompt = 20, longest_prompt = 4000;
  int rows = 0, memory = 2048;  // SchedulerOptions::rows; SchedulerOptions::memory, in MiB
  int repeats = 1;
  int shared_prefix = 0;  // tokens shared by all prompts; above 0: measures the prefix cache
  int sample = 50;        // with shared_prefix: requests repeated without the prefix cache
};
void AddBatchArgs(CLI::App& app, BatchOptions* options);
// Errors: a file cannot be used; an option is invalid; an interrupt; an answer differs from the
// answer to the same request decoded alone without drafts, or decoded without the prefix cache.
Status BenchBatch(const BatchOptions& options);

}  // namespace foretoken
