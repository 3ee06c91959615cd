// Names that readers and writers of draft checkpoints share.
#pragma once

#include <string>

namespace foretoken {

inline const std::string kDraftArchitecture = "foretoken-draft";
inline const std::string kDraftPrefix = "foretoken.draft";
inline constexpr int kDraftVersion = 1;

}  // namespace foretoken
