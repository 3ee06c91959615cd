// Methods of str, dict and list, as Python's. The sandbox has no method that changes its object.
#pragma once

#include <string_view>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/value.h"

namespace foretoken::jinja {

bool HasMethod(const Value& receiver, std::string_view name);
// REQUIRES: HasMethod(receiver, name). Errors: arguments that do not fit, a method that is not
// supported or would change its object.
Result<Value> CallMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                         Heap& heap);

// Replaces `from` by `to`, at most `limit` times (all when negative).
Result<Value> ReplaceText(const std::string& text, const std::string& from, const std::string& to,
                          int64_t limit, Heap& heap);

}  // namespace foretoken::jinja
