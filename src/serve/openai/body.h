// The JSON of a request's body, parsed within bounds: no body exhausts the stack, the memory or
// the time of the server.
#pragma once

#include <cstddef>
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

}  // namespace foretoken::openai
