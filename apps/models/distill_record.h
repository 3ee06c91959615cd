// The record of everything that the answers in an output of distill depend on, stored beside it in
// OUT.run.json, and in OUT.parts while several processes write it. It prevents answers of other
// models or options from being mixed in unnoticed.
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

// Compares the record `was` of the answers that `output` is to have with that of this process.
// `others_work`: other processes are writing such answers, so the differences `changes` are not
// allowed either. Errors: the differences, and how to continue or start over; a name in `changes`
// that is no field.
Status CompareRecords(const std::string& output, const Json& was, const Json& record,
                      const std::vector<std::string>& changes, bool others_work = false);
// CompareRecords with the record stored for `output`, if it has answers. Answers without a record
// are not compared; this is said on stderr.
Status CheckRecord(const std::string& output, bool has_answers, const Json& record,
                   const std::vector<std::string>& changes);
// Stores `record` for `output`, unless that is a device. Errors: those of the system.
Status WriteRecord(const std::string& output, const Json& record);

}  // namespace foretoken
