// Finds the files that a table's methods need (drafts and datastores), by the keys used in the
// tables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

class PaperDraftFiles {
 public:
  // `given`: arguments "KEY=FILE". `loaded`: the target; drafts are looked for in drafts/ beside
  // its file. null: only given files are used. Errors: text that is not KEY=FILE, an unknown key.
  static Result<PaperDraftFiles> Create(const std::vector<std::string>& given,
                                        const LoadedModel* loaded);

  // Returns the file for `key`: the given file, else *-KEY-TYPE.gguf in drafts/ beside the model,
  // else a draft of the drafter `key` found by FindDrafts; empty if there is none.
  std::string Find(const std::string& key) const;
  // Returns the commands that make the file, as a sentence. Errors: an unknown key.
  Result<std::string> HowToMake(const std::string& key) const;

 private:
  PaperDraftFiles() = default;

  NamedValues files_;  // key, path
  // The model's path and file name without the type, which HowToMake inserts; the drafts' folder.
  std::string model_ = "MODEL", stem_ = "MODEL", folder_;
};

}  // namespace foretoken
