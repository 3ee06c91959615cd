// Merging of schemas that must all be satisfied.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace foretoken {

// A schema that accepts the values accepted by both `a` and `b`, which are objects without "$ref"
// and "allOf". Nested schemas may be combined by "allOf". `at`: the JSON pointer that prefixes
// errors. Errors: keywords that cannot be merged, a conjunction that no value satisfies.
Result<Json> MergeSchemas(const Json& a, const Json& b, const std::string& at);

// Whether a keyword does not affect which values are valid.
bool IsAnnotation(std::string_view keyword);

}  // namespace foretoken
