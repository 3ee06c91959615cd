// foretoken bench spec: measures the speed-up of several methods over the questions of a file.
#pragma once

#include "apps/command_line.h"
#include "eval/spec/spec_run.h"
#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchSpecArgs {
  ModelArgs model;
  std::string questions, json, html, answers, resume;
  std::vector<std::string> methods, trees, verifiers;
  std::vector<float> temperatures;
  // Options and limits for all methods. Each option is passed only to the drafters that it is for.
  DraftArgs draft;
  SpecOptions options;
  int limit = 0;
  bool no_chat = false;
};

void DeclareBenchSpec(CLI::App& app, BenchSpecArgs* args);
// Returns the exit status. Errors: those of ReadSpecQuestions, Load, SpecJournal::Open and RunSpec;
// an unknown name; an option that no method takes; no question answered by every method; an
// unwritable file.
Result<int> BenchSpec(BenchSpecArgs& args);

}  // namespace foretoken
