// Finds the files that a table's methods need (drafts and datastores) by the keys that stand for
// them in the tables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/draft_args.h"
#include "runtime/loaded_model.h"

namespace foretoken {

class PaperDraftFiles {
 public:
  // `given`: arguments KEY=FILE. `loaded`: the target; the folder drafts/ beside its file
  // is searched as well. Null: only the given files are used. Errors: an argument that is not
  // KEY=FILE, an unknown key.
  static Result<PaperDraftFiles> Create(const std::vector<std::string>& given,
                                        const LoadedModel* loaded);

  // Returns the file for `key`: the given file, else *-KEY-TYPE.gguf in drafts/ beside the model,
  // else, if `key` is a drafter's name, the first draft for it that FindDrafts found and whose file
  // name has no key. Empty if there is none.
  std::string Find(const std::string& key) const;
  // Returns the commands that make the file, as text for the user. Errors: an unknown key.
  Result<std::string> HowToMake(const std::string& key) const;

 private:
  PaperDraftFiles() = default;

  NamedValues files_;  // key, path
  // HowToMake inserts the model's path (`model_`) and its file name without the number format
  // (`stem_`). `folder_`: the folder that Find searches.
  std::string model_ = "MODEL", stem_ = "MODEL", folder_;
};

}  // namespace foretoken
