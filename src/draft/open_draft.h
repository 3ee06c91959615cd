// Opens trained drafts of all file formats.
#pragma once

#include <memory>
#include <string>

#include "io/draft_file.h"

namespace foretoken {

// Opens a GGUF file or a draft as its authors published it: a directory in one of the layouts
// defined by the methods (METHOD/METHOD_published.cc), or the file of weights in it. Errors: those
// of DraftFile::Open and OpenPublishedDraft.
Result<std::unique_ptr<DraftFile>> OpenDraft(const std::string& path);

}  // namespace foretoken
