// Opens trained drafts of every kind of file.
#pragma once

#include <memory>
#include <string>

#include "io/draft_file.h"

namespace foretoken {

// Opens a GGUF file, or a draft as its authors published it: a directory of one of the layouts that
// methods name (METHOD/METHOD_published.cc), or the weights in it. Errors: those of DraftFile::Open
// and OpenPublishedDraft.
Result<std::unique_ptr<DraftFile>> OpenDraft(const std::string& path);

}  // namespace foretoken
