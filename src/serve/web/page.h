// The web page of the server (index.html), a part of the binary.
#pragma once

#include <string_view>

namespace foretoken {

// HTML in UTF-8. It loads nothing: its scripts and styles are inline, and it speaks to the server
// it came from alone. Content-Security-Policy to send it with: kWebPagePolicy.
std::string_view WebPage();

inline constexpr std::string_view kWebPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src "
    "'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace foretoken
