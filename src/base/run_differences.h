// Differences between a resumed run's settings and those it was begun with, as messages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

struct RunDifference {
  std::string field;     // its name on the command line
  std::string sentence;  // "lr was 0.001, now 0.01"
};

// "FIELD was WAS, now NOW", with long values shortened.
RunDifference ChangedValue(const std::string& field, const Json& was, const Json& now);

// The files of a data set, in order: [{"name", "bytes", "hash"}]. Folders are not part of a name.
Json DataRecord(const std::vector<std::string>& paths, const std::vector<std::string>& hashes);
// DataRecord of the files as they are now. Errors: those of HashFile.
Result<Json> RecordFiles(const std::vector<std::string>& paths);
// Differences between two data records, all under the field "data"; none if `was` is not a record.
std::vector<RunDifference> CompareData(const Json& was, const Json& now);

// The first `most` sentences, separated by semicolons, then how many more there are.
std::string InSentences(std::span<const RunDifference> differences, size_t most = 8);
// The distinct fields, separated by commas.
std::string FieldList(std::span<const RunDifference> differences);

}  // namespace foretoken
