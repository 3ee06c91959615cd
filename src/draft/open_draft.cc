#include "draft/open_draft.h"

#include "io/published_draft.h"

namespace foretoken {

// CMake generates published_layouts.def: the folders of drafters that have a FOLDER_published.cc,
// in the registry's order.
#define FT_PUBLISHED(folder) extern const PublishedLayout kPublished_##folder;
#include "draft/published_layouts.def"
#undef FT_PUBLISHED

Result<std::unique_ptr<DraftFile>> OpenDraft(const std::string& path) {
  static constexpr const PublishedLayout* kLayouts[] = {
#define FT_PUBLISHED(folder) &kPublished_##folder,
#include "draft/published_layouts.def"
#undef FT_PUBLISHED
  };
  return IsPublishedDraft(path) ? OpenPublishedDraft(path, kLayouts) : DraftFile::Open(path);
}

}  // namespace foretoken
