// Files that are not what their names promise, as downloads leave them.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// Whether `bytes` are the text that Git LFS keeps in a file's place.
bool IsLfsPointer(std::string_view bytes);

// What a file is that its reader cannot make sense of, as the end of a sentence that begins with
// its path: "is a Git LFS pointer, ...", "is an HTML page, ...". "" where it is neither.
std::string ForeignContent(std::string_view bytes);

}  // namespace foretoken
