// The JSON of a request's body, parsed within bounds: no body exhausts the stack, the memory or
// the time of the server.
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
  int depth = 64;                   // of arrays and objects
  size_t keys = 65'536;             // of one object
  size_t values = size_t{1} << 20;  // of the whole body
};

// The object that `body` holds. Time: linear but for the sorting of keys. Errors: not JSON, not an
// object, a key that occurs twice, a number beyond a double, invalid UTF-8, more than the limits.
// Messages name the position, never the text that is there.
ApiResult<Json> ParseBody(std::string_view body, const BodyLimits& limits = {});

// The object that a string of a body holds as JSON, as the arguments of a call do; null where it
// holds none: no JSON, another kind of value, a key that occurs twice. Strings of one body share
// the limit of values: `values` is how many the earlier ones have, and grows by this one's. Time:
// as of ParseBody. Errors: more than the limits, reported of the field `param`.
ApiResult<std::shared_ptr<const Json>> ParseInnerObject(std::string_view text,
                                                        const std::string& param,
                                                        const BodyLimits& limits, size_t& values);

}  // namespace foretoken::openai
