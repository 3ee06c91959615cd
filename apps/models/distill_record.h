// What the answers in an output of distill depend on, kept beside it in OUT.run.json: answers of
// another model or of other options must not join them unnoticed.
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
// Contents of the files that --data names.
Result<Json> RecordDataFiles(const std::vector<std::string>& data);
// The fields of `sampling`, by the names of their options.
void AddSampling(const SamplingParams& sampling, Json& record);
// The verifier, and where it lets drafts change the text, the drafter and its tree.
Status AddVerifier(const DraftArgs& draft, Json& record);

// Writes `record` for `output`. Where answers are there already (`goes_on`), they must be of the
// same record but for the fields `changes`; one that was written without a record is not compared.
// Errors: what differs, and how to go on or begin anew; the system's.
Status BeginRecord(const std::string& output, bool goes_on, const Json& record,
                   const std::vector<std::string>& changes);

}  // namespace foretoken
