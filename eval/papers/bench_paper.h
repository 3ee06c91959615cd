// foretoken bench paper: the papers' tables on a model of yours, beside what the papers printed.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchPaperArgs {
  ModelArgs model;
  std::string name;       // of a table, or a .json file; empty: all are listed
  std::string questions;  // the folder of question files
  std::string json, resume, command;
  std::vector<std::string> drafts;  // KEY=FILE
  SpecOptions options;
  int limit = 0;  // questions of a part; 0: all
  bool printed = false;
  // Whether they were typed, and so outrank the paper's.
  const CLI::Option *new_tokens = nullptr, *repeats = nullptr;
};

void DeclareBenchPaper(CLI::App& app, BenchPaperArgs* args);
// Returns the exit status. Errors: an unknown or broken table, files that are missing, see RunSpec.
Result<int> BenchPaper(BenchPaperArgs& args);

}  // namespace foretoken
