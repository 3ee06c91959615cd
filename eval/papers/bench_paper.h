// foretoken bench paper: measures the cells of a paper's table with the user's model, and shows the
// printed cells below.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchPaperArgs {
  ModelArgs model;
  std::string name;       // a built-in table, or a .json file; empty: lists all tables
  std::string questions;  // the folder of question files
  std::string json, resume, command;
  std::vector<std::string> drafts;  // KEY=FILE
  SpecOptions options;
  int limit = 0;         // maximum number of questions per part; 0: all
  bool printed = false;  // shows only the printed cells; needs no model
  // The options that override the table's values if they are given.
  const CLI::Option *new_tokens = nullptr, *repeats = nullptr;
};

void DeclareBenchPaper(CLI::App& app, BenchPaperArgs* args);
// Returns the exit status. Errors: an unknown or malformed table; those of Load,
// PaperDraftFiles::Create and the table's evaluator; an unwritable file.
Result<int> BenchPaper(BenchPaperArgs& args);

}  // namespace foretoken
