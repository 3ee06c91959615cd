// Finds the drafts in the folder `drafts` beside a target's file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "draft/drafter.h"

namespace foretoken {

struct FoundDraft {
  std::string_view drafter;  // the name it is registered under
  std::string_view option;   // the option that names the file
  std::string path;
  // Tokens per cycle of chains that follow from the acceptance stored in the file; 0 if none is.
  double tau = 0.0;
};

// The folder `drafts` beside a target's file or directory; empty if `target_path` is empty.
std::string DraftFolderOf(const std::string& target_path);

// The .gguf files in DraftFolderOf(target_path) that are drafts made for this target, or models
// with its vocabulary. Those with the highest tau come first. Drafts without follow, in the order
// of drafters.def, and those of one drafter by name. Files for other targets are skipped silently.
// For a file that names this target but cannot be used, and for a folder that is a file, a sentence
// is added to `notes`, which may be null. The result is empty if `target_path` is empty or
// `tokenizer` is null. REQUIRES: `target` and `tokenizer` come from the file `target_path`, if
// there is one.
std::vector<FoundDraft> FindDrafts(const Model& target, const Tokenizer* tokenizer,
                                   const std::string& target_path,
                                   std::vector<std::string>* notes = nullptr);
std::vector<FoundDraft> FindDrafts(const DraftContext& context);

// The file for the required option of `entry`, taken from DraftFolderOf(context.target_path): the
// first of FindDrafts, with a note in context.notes where there are several. Errors: the folder
// holds none (the message names the folder, what was expected, and the option that names a file
// elsewhere); `entry` requires a file of another kind, or there is no target file (the message
// names the missing option).
Result<std::string> FindFileFor(const DrafterEntry& entry, const DraftContext& context);

// The drafter for drafts of `method`; empty if none is registered.
std::string_view DrafterOfMethod(std::string_view method);
// The drafter for the trained draft in the file `path`. Errors: the file cannot be opened, or its
// method is not registered.
Result<std::string_view> DrafterOf(const std::string& path);

}  // namespace foretoken
