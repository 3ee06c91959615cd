// What the commands that answer questions share: their options, and what a journal holds them to.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/spec/spec_run.h"
#include "runtime/loaded_model.h"

namespace foretoken {

void DeclareSpecOptions(CLI::App& app, SpecOptions* o);
// --json and --resume.
void DeclareRecords(CLI::App& app, std::string* json, std::string* resume);

// The place of the plain decoding that methods of a verifier are compared with; added where it is
// not there yet. A verifier that promises a text promises the one that it writes itself without
// drafts: `nucleus` cuts the distribution.
size_t PlainAt(float temperature, const std::string& verifier, int batch,
               std::vector<SpecMethod>* methods);

// All that answers and times depend on, as far as a command says it, but for the questions.
Json SpecIdentity(const LoadedModel& loaded, const std::string& model, const SpecOptions& o,
                  const std::vector<SpecMethod>& methods);

}  // namespace foretoken
