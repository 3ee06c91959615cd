// Helpers for everything that parses JSON: a check of the nesting depth before parsing, because the
// parser recurses once per level and a hostile file must not exhaust the stack, and parser messages
// without the parser's own prefix.
#pragma once

#include <string_view>

namespace foretoken {

// Whether arrays and objects in `text` nest more than `most` levels deep. Does not parse.
bool NestsDeeper(std::string_view text, int most);

// The reason in `what`, the message of an exception of nlohmann::json, without the exception's
// name. Points into `what`.
std::string_view JsonReason(std::string_view what);

}  // namespace foretoken
