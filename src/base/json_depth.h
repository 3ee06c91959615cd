// What our two kinds of JSON share: how deep a text nests, found without parsing (the parser
// recurses per level, and a hostile file must not exhaust the stack), and what its parser complains
// of.
#pragma once

#include <string_view>

namespace foretoken {

// Whether arrays and objects in `text` nest more than `most` levels deep.
bool NestsDeeper(std::string_view text, int most);

// The reason that the parser's exception gives, without the exception's name.
std::string_view JsonReason(std::string_view what);

}  // namespace foretoken
