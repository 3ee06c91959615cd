// Reads values of a request and remembers the first that is wrong, as the error for the client.
// Include only in .cc files.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "serve/openai/error.h"

namespace foretoken::openai {

// Every reader returns nothing once a value was wrong, so that callers may go on without looking.
// `param` is the field's path, as in "messages[0].role".
class ValueReader {
 public:
  bool failed() const { return error_.has_value(); }
  // REQUIRES: failed().
  const ApiError& error() const { return *error_; }

  std::optional<bool> Bool(const Json& value, const std::string& param);
  // A number in [least, most].
  std::optional<double> Number(const Json& value, const std::string& param, double least,
                               double most);
  // An integer in [least, most]; 3.0 is one, as in JSON schemas.
  std::optional<int64_t> Integer(const Json& value, const std::string& param, int64_t least,
                                 int64_t most);
  // A string of at most `most` code points, as JSON schemas count them.
  std::optional<std::string> Text(const Json& value, const std::string& param,
                                  size_t most = SIZE_MAX);
  // One of `names`.
  std::optional<std::string> OneOf(const Json& value, const std::string& param,
                                   std::initializer_list<std::string_view> names);
  // Whether `value` is an object; wrong where it is none.
  bool Object(const Json& value, const std::string& param);
  // Whether `value` is an array of `least` to `most` values; wrong where it is none.
  bool Array(const Json& value, const std::string& param, size_t least, size_t most);
  // The field `key` of an object; null where it is missing or null.
  static const Json* Find(const Json& object, const char* key);
  // The same of a field that must be there; wrong where it is not.
  const Json* Need(const Json& object, const char* key, const std::string& param);

  void WrongType(const Json& value, const std::string& param, std::string_view expected);
  void WrongValue(const std::string& param, std::string_view expected, std::string_view found);
  void Unsupported(const std::string& param, std::string_view what);
  void Fail(const std::string& param, const char* code, std::string message);

 private:
  std::optional<ApiError> error_;
};

// What `value` is, for messages: "a string", "an object", or the number itself. Strings are shown
// where they look like a name, since anything else may be part of a prompt.
std::string Describe(const Json& value);

}  // namespace foretoken::openai
