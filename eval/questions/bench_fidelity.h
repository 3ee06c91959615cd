// foretoken bench fidelity: compares the next-token distributions of two models, for example of one
// model in two number formats.
#pragma once

#include <string>

#include "runtime/loaded_model.h"

namespace foretoken {

struct FidelityOptions {
  ModelArgs model;
  std::string reference, data, json;
  int window = 256;       // tokens scored in one pass from an empty cache
  int positions = 20000;  // maximum number of positions compared
};
void AddFidelityArgs(CLI::App& app, FidelityOptions* options);
// Errors: those of Load, ReadDocuments and Model::Forward; models with different vocabularies; a
// text shorter than a window; an unwritable JSON file.
Status BenchFidelity(const FidelityOptions& options);

}  // namespace foretoken
