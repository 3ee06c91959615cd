// foretoken bench peers: compares other engines on this machine with ours, on the same model and
// questions.
#pragma once

#include <string>

#include "apps/command_line.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

struct BenchPeersArgs {
  ModelArgs model;
  std::string questions, draft_model, folder, json;
  SpecOptions options;
  int limit = 0;
};

void DeclareBenchPeers(CLI::App& app, BenchPeersArgs* args);
// Errors: those of ReadSpecQuestions, Load and RunSpec; no other engine on the machine; a model
// that is not a GGUF file; a failure of the other engine's baseline; an unwritable file.
Status BenchPeers(BenchPeersArgs& args);

}  // namespace foretoken
