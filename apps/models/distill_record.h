// The record of everything that the answers in an output of distill depend on, stored beside it in
// OUT.run.json. It prevents answers of other models or options from being mixed in unnoticed.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "io/model_file.h"
#include "runtime/draft_args.h"

namespace foretoken {

// {"model": ...}: its name and hashes of weights, vocabulary and chat template. Reads all weights.
Json RecordModel(const ModelFile& file);
// A record of the contents of the files that --data names.
Result<Json> RecordDataFiles(const std::vector<std::string>& data);
// Adds the fields of `sampling`, under the names of their options.
void AddSampling(const SamplingParams& sampling, Json& record);
// Adds the verifier and, if it lets drafts change the text, the drafter and its tree.
Status AddVerifier(const DraftArgs& draft, Json& record);

// Writes `record` for `output`. If `output` already has answers (`goes_on`), their record must
// equal `record` except for the fields `changes`; answers without a record are not compared.
// Errors: the differences, and how to continue or start over; those of the system.
Status BeginRecord(const std::string& output, bool goes_on, const Json& record,
                   const std::vector<std::string>& changes);

}  // namespace foretoken
