// What a mistyped name was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// The name that the fewest edits turn `typed` into, the first of several; "" where that takes more
// than one edit for every three letters. An edit adds, drops or replaces a byte or swaps two
// neighbours; '_' counts as '-'.
std::string NearestName(std::string_view typed, const std::vector<std::string>& names);

// "; did you mean MARK + name?", or "" where no name is near. To be appended to an error.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& names,
                       std::string_view mark = "");

}  // namespace foretoken
