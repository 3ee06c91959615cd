// What a run of `bench spec` has answered so far, on disk, so that one that was cut off goes on
// where it stopped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/output_file.h"
#include "eval/spec/spec_run.h"

namespace foretoken {

// The answers to one question, one a method.
struct SpecJournalEntry {
  size_t place = 0;  // of the question in the list
  std::string id;
  std::vector<SpecAnswer> answers;
};

// The first line says what was run, every further one holds a question's answers: {"question",
// "id", "answers": [methods]}. Thread-safety: one thread.
class SpecJournal {
 public:
  // Begins the file, or reads what it holds; a last line that was cut off is dropped. `run`: an
  // object of all that the answers depend on; `vocab`: tokens the model has. Errors: a file of
  // another run (names the first field that differs), a broken line, answers that contradict
  // themselves, an unwritable file.
  static Result<SpecJournal> Open(const std::string& path, const Json& run, int vocab);

  // The answers to the question at that place of the list, if they are known. Errors: they are to
  // another question, or of other methods.
  Result<std::optional<std::vector<SpecAnswer>>> Find(size_t place, const SpecQuestion& question,
                                                      size_t methods) const;
  Status Add(size_t place, const SpecQuestion& question, const std::vector<SpecAnswer>& answers);

 private:
  std::string path_;
  std::map<size_t, SpecJournalEntry> entries_;
  AppendedFile out_;
};

}  // namespace foretoken
