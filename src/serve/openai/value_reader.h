// Typed access to the JSON values of a request. Keeps the first error for the client. Include only
// in .cc files.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/openai/error.h"

namespace foretoken::openai {

// After the first error every reader returns nothing, so callers need not check each call. `param`
// is the field's path, as in "messages[0].role".
class ValueReader {
 public:
  bool failed() const { return error_.has_value(); }
  // REQUIRES: failed().
  const ApiError& error() const { return *error_; }

  std::optional<bool> Bool(const Json& value, const std::string& param);
  // A number in [least, most].
  std::optional<double> Number(const Json& value, const std::string& param, double least,
                               double most);
  // An integer in [least, most]. 3.0 counts as one, as in JSON Schema.
  std::optional<int64_t> Integer(const Json& value, const std::string& param, int64_t least,
                                 int64_t most);
  // A string of at most `most` code points, counted as in JSON Schema.
  std::optional<std::string> Text(const Json& value, const std::string& param,
                                  size_t most = SIZE_MAX);
  // One of `names`.
  std::optional<std::string> OneOf(const Json& value, const std::string& param,
                                   std::initializer_list<std::string_view> names);
  // Whether `value` is an object; if not, an error is recorded.
  bool Object(const Json& value, const std::string& param);
  // Whether `value` is an array of `least` to `most` values; if not, an error is recorded.
  bool Array(const Json& value, const std::string& param, size_t least, size_t most);
  // The field `key` of an object; null if it is missing or null.
  static const Json* Find(const Json& object, const char* key);
  // Like Find, for a required field: an error is recorded if it is missing or null.
  const Json* Need(const Json& object, const char* key, const std::string& param);

  void WrongType(const Json& value, const std::string& param, std::string_view expected);
  void WrongValue(const std::string& param, std::string_view expected, std::string_view found);
  void Unsupported(const std::string& param, std::string_view what);
  void Fail(const std::string& param, const char* code, std::string message);

 private:
  std::optional<ApiError> error_;
};

// Describes `value` for messages: "a string", "an object", or the number itself. A string is quoted
// only if it looks like a name, since anything else may be part of a prompt.
std::string Describe(const Json& value);

}  // namespace foretoken::openai
