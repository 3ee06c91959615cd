// Helpers shared by the two JSON types: a nesting check before parsing, since the parser recurses
// for each level and a hostile file must not exhaust the stack, and cleaned-up parser messages.
#pragma once

#include <string_view>

namespace foretoken {

// Whether arrays and objects in `text` nest more than `most` levels deep. Does not parse.
bool NestsDeeper(std::string_view text, int most);

// The reason in the message of the parser's exception, without the exception's name.
std::string_view JsonReason(std::string_view what);

}  // namespace foretoken
