// The journal of `bench spec`: answers on disk, from which an interrupted run resumes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/output_file.h"
#include "eval/spec/spec_run.h"

namespace foretoken {

// All methods' answers to one question in one pass.
struct SpecJournalEntry {
  size_t place = 0;                 // pass * number of questions in the list + index in the list
  std::string id;                   // SpecQuestion::id
  std::vector<SpecAnswer> answers;  // [methods]
};

// A JSONL file. The first line identifies the run; each further line holds the answers to one
// question: {"question", "id", "answers": [methods]}. Thread-safety: one thread.
class SpecJournal {
 public:
  // Creates the file, or reads an existing one and drops an incomplete last line. `run`: an object
  // with all settings that the answers depend on; `vocab`: the model's vocabulary size. Errors: a
  // file of another run (the message names the first field that differs), a malformed line,
  // inconsistent answers, an unwritable file.
  static Result<SpecJournal> Open(const std::string& path, const Json& run, int vocab);

  // Returns the answers recorded for `place`, or nullopt if there are none. Errors: the answers
  // belong to another question, or their number is not `methods`.
  Result<std::optional<std::vector<SpecAnswer>>> Find(size_t place, const SpecQuestion& question,
                                                      size_t methods) const;
  // Appends the answers to the file. Find only returns answers of earlier runs. Errors: an
  // unwritable file.
  Status Add(size_t place, const SpecQuestion& question, const std::vector<SpecAnswer>& answers);

 private:
  std::string path_;
  std::map<size_t, SpecJournalEntry> entries_;
  AppendedFile out_;
};

}  // namespace foretoken
