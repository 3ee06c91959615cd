// The formats of strings that schemas may name.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

// The regular expression of `format`, or nothing where it is not supported.
std::string_view FormatPattern(std::string_view format);
// "date, time, ...".
std::string FormatNames();

}  // namespace foretoken
