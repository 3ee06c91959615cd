// Formatting of one value by a Python format specification.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/value.h"

namespace foretoken::jinja {

// [[fill]align][sign][#][0][width][grouping][.precision][type]
struct FormatSpec {
  std::string fill = " ";  // one character
  char align = 0;          // '<', '>', '^' or '=' (between sign and digits); 0: the type's default
  char sign = '-';         // '-', '+' or ' '
  bool alternate = false;
  int64_t width = 0;
  char grouping = 0;       // ',' or '_'; 0: none
  int64_t precision = -1;  // -1: the type's default
  char type = 0;           // 0: the value's default
};

// Parses a specification. Errors: a syntax error.
Result<FormatSpec> ParseFormatSpec(std::string_view text);

// Evaluates format(value, spec). Errors: a specification that does not fit the value; a result that
// is too large.
Result<std::string> FormatValue(const Value& value, std::string_view spec, Heap& heap);

// FormatValue for strings and for numbers.
Result<std::string> FormatString(const std::string& text, const FormatSpec& spec, Heap& heap);
Result<std::string> FormatNumber(const Value& number, const FormatSpec& spec, Heap& heap);

}  // namespace foretoken::jinja
