// The supported values of the JSON Schema keyword "format".
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// The regular expression of `format`, or "" if it is not supported.
std::string_view FormatPattern(std::string_view format);
// "date, time, ...".
std::string FormatNames();

}  // namespace foretoken
