// Recognises what a failed download leaves in place of a file.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// Whether `bytes` are a Git LFS pointer.
bool IsLfsPointer(std::string_view bytes);

// Describes unreadable content as the end of a sentence that begins with its path: "is a Git LFS
// pointer, ...", "is an HTML page, ..."; "" if it is neither.
std::string ForeignContent(std::string_view bytes);

}  // namespace foretoken
