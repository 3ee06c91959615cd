// Bytes as they can be shown in messages.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// A whole message as it can be shown in a terminal: control bytes but newlines and tabs, and bytes
// that are not UTF-8, as \xNN.
std::string Legible(std::string_view text);

// `text` as it can be shown in a message: control and invalid bytes as \xNN, at most 80 bytes of
// it.
std::string Printable(std::string_view text);

}  // namespace foretoken
