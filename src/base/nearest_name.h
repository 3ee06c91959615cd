// Suggestions for mistyped names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

// The name with the fewest edits from `typed`, the first of several equally near ones; "" if even
// that name needs more than about one edit for every three letters, or if `typed` has fewer than 2
// or more than 64 bytes. An edit adds, drops or replaces a byte or swaps two neighbours; '_' and
// '-' are equal.
std::string NearestName(std::string_view typed, const std::vector<std::string>& names);

// "; did you mean MARK + name?" for appending to an error; "" if no name is near.
std::string DidYouMean(std::string_view typed, const std::vector<std::string>& names,
                       std::string_view mark = "");

}  // namespace foretoken
