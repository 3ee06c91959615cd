// Options shared by the commands that answer questions, and the settings by which a journal
// identifies a run.
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

// Returns the index in `methods` of the baseline for methods with this temperature, verifier and
// batch; appends the baseline if missing. The baseline's verifier is `exact`. Exception: above
// temperature 0, a verifier of Guarantee::kSameText is also the verifier of the baseline, because
// without drafts it may write another text than `exact` (`nucleus` truncates the distribution).
size_t FindOrAddBaseline(float temperature, const std::string& verifier, int batch,
                         std::vector<SpecMethod>* methods);

// Returns the settings that determine answers and times, except for the questions, for the first
// line of a journal.
Json SpecIdentity(const LoadedModel& loaded, const std::string& model, const SpecOptions& o,
                  const std::vector<SpecMethod>& methods);

}  // namespace foretoken
