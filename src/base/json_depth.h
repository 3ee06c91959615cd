// How deep JSON text nests, found without parsing: the parser recurses per level, and a hostile
// file must not exhaust the stack.
#pragma once

#include <string_view>

namespace foretoken {

// Whether arrays and objects in `text` nest more than `most` levels deep.
bool NestsDeeper(std::string_view text, int most);

}  // namespace foretoken
