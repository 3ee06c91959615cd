// Options and baselines that the commands answering questions share, and the settings by which a
// journal identifies a run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

void DeclareSpecOptions(CLI::App& app, SpecOptions* options);
// Declares --json and --resume.
void DeclareRecords(CLI::App& app, std::string* json, std::string* resume);

// Returns the index in `methods` of the baseline for methods with this temperature, verifier and
// batch; appends the baseline if missing. The baseline's verifier is `exact`, except that above
// temperature 0 a verifier of Guarantee::kSameText is also the verifier of the baseline: without
// drafts, its text may differ from that of `exact` (`nucleus` truncates the distribution).
size_t FindOrAddBaseline(float temperature, const std::string& verifier, int batch,
                         std::vector<SpecMethod>* methods);

// Returns the settings that determine answers and times, for the first line of a journal. The
// caller adds those that determine the questions.
Json SpecIdentity(const LoadedModel& loaded, const std::string& model, const SpecOptions& options,
                  const std::vector<SpecMethod>& methods);

}  // namespace foretoken
