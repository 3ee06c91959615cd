// Opens trained drafts of all file formats.
#pragma once

#include <memory>
#include <string>

#include "io/draft_file.h"

namespace foretoken {

// Opens a GGUF file, or a draft as its authors published it: a directory in one of the methods'
// layouts (METHOD/METHOD_published.cc), or the weights file in such a directory. Errors: those
// of DraftFile::Open and OpenPublishedDraft.
Result<std::unique_ptr<DraftFile>> OpenDraft(const std::string& path);

}  // namespace foretoken
