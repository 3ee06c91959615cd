// Schemas that must all be met, as one.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace foretoken {

// A schema that accepts what `a` and `b`, objects without "$ref" and "allOf", both accept; schemas
// within it may be joined by "allOf". `at`: the JSON pointer that opens errors. Errors: keywords
// that cannot be joined, what no value can meet.
Result<Json> MergeSchemas(const Json& a, const Json& b, const std::string& at);

// Keywords that say nothing of which values are valid.
bool IsAnnotation(std::string_view keyword);

}  // namespace foretoken
