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

// The folder `drafts` beside a target's file or directory; empty where `target_path` is.
std::string DraftFolderOf(const std::string& target_path);

// The .gguf files of that folder that were made for this target, or are models of its vocabulary:
// in the order of drafters.def, those of one drafter by name. Files for other targets are passed
// over. A file that names this target but cannot be read adds a sentence to `notes`, which may be
// null. REQUIRES: `target` and `tokenizer` are those of the file `target_path`; nothing is found
// where that is empty.
std::vector<FoundDraft> FindDrafts(const Model& target, const Tokenizer* tokenizer,
                                   const std::string& target_path,
                                   std::vector<std::string>* notes = nullptr);
std::vector<FoundDraft> FindDrafts(const DraftContext& context);

// The file that `entry` cannot do without, taken from that folder: the first by name, with a note
// in context.notes where there are several. Errors: none is there (names the folder, what was
// expected, and the option that names a file); an option that names no draft.
Result<std::string> FindFileFor(const DrafterEntry& entry, const DraftContext& context);

// The drafter that takes the drafts of `method`; empty where none is registered.
std::string_view DrafterOfMethod(std::string_view method);
// The drafter that a trained draft's file is for. Errors: the file's, or that of a method that is
// not registered.
Result<std::string_view> DrafterOf(const std::string& path);

}  // namespace foretoken
