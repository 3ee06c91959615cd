// Escaping of arbitrary bytes for messages.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// A whole message for a terminal: control bytes other than newlines and tabs, and bytes that are
// not UTF-8, become \xNN.
std::string Legible(std::string_view text);

// A piece of text for a message: its first 80 bytes, followed by "..." if there are more. Control
// bytes become \xNN, and so do all bytes above 0x7f if `text` is longer or not UTF-8.
std::string Printable(std::string_view text);

}  // namespace foretoken
