// Options shared by the commands that answer questions, and the identity of their runs in a
// journal.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

void DeclareSpecOptions(CLI::App& app, SpecOptions* o);
// Declares --json and --resume.
void DeclareRecords(CLI::App& app, std::string* json, std::string* resume);

// Returns the index in `methods` of the baseline for methods with this verifier; appends it if
// missing. Above temperature 0, a verifier of Guarantee::kSameText is its own baseline's verifier,
// because its text without drafts may differ from that of `exact` (`nucleus` truncates the
// distribution).
size_t PlainAt(float temperature, const std::string& verifier, int batch,
               std::vector<SpecMethod>* methods);

// Every setting that answers and times depend on, except for the questions: the first line of a
// journal.
Json SpecIdentity(const LoadedModel& loaded, const std::string& model, const SpecOptions& o,
                  const std::vector<SpecMethod>& methods);

}  // namespace foretoken
