// Python's formatting of values: format(), str.format and the operator % of strings.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/value.h"

namespace foretoken::jinja {

// Evaluates text.format(arguments): fields {}, {0}, {name}, {a.b[c]}, conversions !r and !s, and
// format specifications, which may contain fields. Errors: as Python's; a result that is too large.
Result<Value> FormatFields(const std::string& text, const Arguments& arguments, Heap& heap);

// Evaluates text % values: a tuple of values, a dict for "%(name)s", or one value.
Result<Value> FormatPercent(const std::string& text, const Value& values, Heap& heap);

}  // namespace foretoken::jinja
