// Escaping of arbitrary bytes for messages.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// A whole message for a terminal: control bytes other than newlines and tabs, and bytes that are
// not UTF-8, become \xNN.
std::string Legible(std::string_view text);

// A piece of text for a message: control and invalid bytes become \xNN, and at most 80 bytes are
// shown.
std::string Printable(std::string_view text);

}  // namespace foretoken
