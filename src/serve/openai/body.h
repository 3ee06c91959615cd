// Parsing of JSON request bodies with limits, so that no body exhausts the server's stack, memory
// or time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "serve/openai/error.h"

namespace foretoken::openai {

struct BodyLimits {
  size_t bytes = size_t{32} << 20;
  int depth = 64;                   // nesting of arrays and objects
  size_t keys = 65'536;             // per object
  size_t values = size_t{1} << 20;  // of the whole body
};

// Parses the object in `body`. Time: linear, except for sorting keys. Errors: invalid JSON, not an
// object, a duplicate key, a number beyond the range of double, invalid UTF-8, a limit exceeded.
// Messages give the position, never the text found there.
ApiResult<Json> ParseBody(std::string_view body, const BodyLimits& limits = {});

// Parses the object inside a string of a body, such as a call's arguments. Returns null if the
// string is not valid JSON, is another kind of value, or has a duplicate key. All strings of one
// body share the limit of values: `values` counts the values of earlier strings and is increased by
// this one's. Time: as ParseBody. Errors: a limit exceeded, reported for the field `param`.
ApiResult<std::shared_ptr<const Json>> ParseInnerObject(std::string_view text,
                                                        const std::string& param,
                                                        const BodyLimits& limits, size_t& values);

}  // namespace foretoken::openai
