// The server's web page (index.html), embedded in the binary.
#pragma once

#include <string_view>

namespace foretoken {

// The page: HTML in UTF-8. Its scripts and styles are inline, and it contacts only the server it
// came from. Send it with the Content-Security-Policy kWebPagePolicy.
std::string_view WebPage();

inline constexpr std::string_view kWebPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src "
    "'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace foretoken
