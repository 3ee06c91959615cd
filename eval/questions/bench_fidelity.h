// foretoken bench fidelity: how far a model's answers are from another's, as number formats change
// them.
#pragma once

#include <string>

#include "runtime/loaded_model.h"

namespace foretoken {

struct FidelityOptions {
  ModelArgs model;
  std::string reference, data, json;
  int window = 256;       // tokens scored together, from an empty cache each
  int positions = 20000;  // at most
};
void AddFidelityArgs(CLI::App& app, FidelityOptions* options);
// Errors: see Load; models of different vocabularies; no text, or one shorter than a window.
Status BenchFidelity(const FidelityOptions& options);

}  // namespace foretoken
