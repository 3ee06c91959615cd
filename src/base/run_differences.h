// How a run that is to go on differs from the one that was begun, so that the user can be told.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"

namespace foretoken {

struct RunDifference {
  std::string field;     // what the user names it by
  std::string sentence;  // "lr was 0.001, now 0.01"
};

// "FIELD was WAS, now NOW", long values shortened.
RunDifference ChangedValue(const std::string& field, const Json& was, const Json& now);

// The files of a data set, in order: [{"name", "bytes", "hash"}]. Folders do not count.
Json DataRecord(const std::vector<std::string>& paths, const std::vector<std::string>& hashes);
// The same of what the files hold now. Errors: those of HashFile.
Result<Json> RecordFiles(const std::vector<std::string>& paths);
// What became of which file, all as the field "data".
std::vector<RunDifference> CompareData(const Json& was, const Json& now);

// Sentences with semicolons between them, at most `most`, then how many more there are.
std::string InSentences(std::span<const RunDifference> differences, size_t most = 8);
// The fields, each once, with commas between them.
std::string FieldList(std::span<const RunDifference> differences);

}  // namespace foretoken
