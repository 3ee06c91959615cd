// The drafts that lie beside a target's file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {

struct FoundDraft {
  std::string_view drafter;  // the name under which it is registered
  std::string_view option;   // what names the file
  std::string path;
};

// What in the folder `drafts` beside the target's file was made for this target, or is a model of
// the same vocabulary: in the order of drafters.def, those of one drafter by name. Files that
// cannot be read or are for another target are passed over. REQUIRES: `target` and `tokenizer` are
// those of the file `target_path`; nothing is found where that is empty.
std::vector<FoundDraft> FindDrafts(const Model& target, const Tokenizer* tokenizer,
                                   const std::string& target_path);

// The drafter that a trained draft's file is for. Errors: the file's, or that of a method that is
// not registered.
Result<std::string_view> DrafterOf(const std::string& path);

}  // namespace foretoken
