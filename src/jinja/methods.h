// Python's methods of str, dict and list. Methods that modify their object are not available, as in
// Jinja's sandbox.
#pragma once

#include <string_view>

#include "base/result.h"
#include "jinja/heap.h"
#include "jinja/unicode.h"
#include "jinja/value.h"

namespace foretoken::jinja {

bool HasMethod(const Value& receiver, std::string_view name);
// REQUIRES: HasMethod(receiver, name). Errors: arguments that do not fit, a method that is not
// supported or would modify its object.
Result<Value> CallMethod(const Value& receiver, std::string_view name, const Arguments& arguments,
                         Heap& heap);

// A method of str that formats text or tests its characters; null if there is none.
using StringMethodPtr = Result<Value> (*)(const std::string& text, std::string_view name,
                                          const Arguments& arguments, Heap& heap);
StringMethodPtr FindLayoutMethod(std::string_view name);

// `text` padded to at least `width` characters. `side`: where the text is placed: left, right or
// centre. `fill`: one character.
Result<Value> Pad(const std::string& text, int64_t width, const std::string& fill, Side side,
                  Heap& heap);

// Replaces `from` by `to`, at most `limit` times (all if negative).
Result<Value> ReplaceText(const std::string& text, const std::string& from, const std::string& to,
                          int64_t limit, Heap& heap);

}  // namespace foretoken::jinja
