// The files that a table's methods cannot do without: drafts and datastores, by the keys that the
// tables call them, and how each is made.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

class PaperDraftFiles {
 public:
  // `given`: "KEY=FILE" as typed. `loaded` is the model that is asked, or null: nothing is looked
  // for then. Errors: text that is not KEY=FILE, an unknown key.
  static Result<PaperDraftFiles> Create(const std::vector<std::string>& given,
                                        const LoadedModel* loaded);

  // The file for `key`: one that was given, or in the folder drafts/ beside the model one named
  // *-KEY-TYPE.gguf; empty where there is none.
  std::string Find(const std::string& key) const;
  // The commands that make it, in a sentence. Errors: an unknown key.
  Result<std::string> HowToMake(const std::string& key) const;

 private:
  PaperDraftFiles() = default;

  NamedValues files_;  // key, path
  std::string model_ = "MODEL", stem_ = "MODEL", folder_;
};

}  // namespace foretoken
