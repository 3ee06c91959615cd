// foretoken bench paper: reproduces the papers' tables with a given model, and shows the printed
// cells too.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchPaperArgs {
  ModelArgs model;
  std::string name;       // name of a table, or its .json file; empty: lists all tables
  std::string questions;  // the folder of question files
  std::string json, resume, command;
  std::vector<std::string> drafts;  // KEY=FILE
  SpecOptions options;
  int limit = 0;         // maximum number of questions of a part; 0: all
  bool printed = false;  // shows only the printed table; needs no model
  // Options that replace the table's values if they were given.
  const CLI::Option *new_tokens = nullptr, *repeats = nullptr;
};

void DeclareBenchPaper(CLI::App& app, BenchPaperArgs* args);
// Returns the exit status. Errors: an unknown or malformed table, missing files, those of RunSpec.
Result<int> BenchPaper(BenchPaperArgs& args);

}  // namespace foretoken
