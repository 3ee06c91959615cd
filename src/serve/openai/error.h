// Errors sent to clients: the error object of the OpenAI API.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/json_fwd.h"

namespace foretoken::openai {

enum class ErrorKind {
  kInvalidRequest,   // 400
  kAuthentication,   // 401
  kPermission,       // 403
  kNotFound,         // 404
  kMethodForbidden,  // 405
  kTooLarge,         // 413
  kRateLimit,        // 429
  kServer,           // 500
  kNotSupported,     // 501
  kUnavailable,      // 503
};

// An error. Its message says what was found and what was expected, and never quotes a prompt.
struct ApiError {
  ErrorKind kind = ErrorKind::kInvalidRequest;
  std::string message;
  std::string param;  // the field, as in "messages[0].content"; empty: null on the wire
  std::string code;   // such as "invalid_type"; empty: null on the wire
};

// The HTTP status of an error.
int HttpStatus(ErrorKind kind);
// The kind with this status; kInvalidRequest if there is none.
ErrorKind KindOfStatus(int status);
// Whether the same request may succeed later, in which case answers have Retry-After.
bool MayRetry(ErrorKind kind);
// The type on the wire, as in "invalid_request_error".
std::string_view TypeName(ErrorKind kind);
// {"error": {"message", "type", "param", "code"}}
Json ErrorBody(const ApiError& error);

// The prompt and the requested answer exceed the context.
ApiError ContextLengthError(int prompt_tokens, int context, std::string param);
// The key is missing or wrong.
ApiError ApiKeyError();
// The endpoint belongs to the API but is not supported by this server.
ApiError NotSupportedError(std::string_view endpoint);
// No such path. The message helps where clients often go wrong with it.
ApiError NotFoundError(std::string_view path);
// The queue is full.
ApiError QueueFullError();
ApiError ShuttingDownError();
// The model is still loading, or the server is shutting down.
ApiError UnavailableError(std::string message);

// A value, or the error for the client.
template <typename T>
class [[nodiscard]] ApiResult {
 public:
  ApiResult(T value) : value_(std::move(value)) {}                                 // NOLINT
  ApiResult(ApiError error) : value_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return value_.index() == 0; }
  // REQUIRES: ok().
  T& value() {
    FT_CHECK(ok());
    return std::get<0>(value_);
  }
  const T& value() const {
    FT_CHECK(ok());
    return std::get<0>(value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // REQUIRES: !ok().
  const ApiError& error() const {
    FT_CHECK(!ok());
    return std::get<1>(value_);
  }

 private:
  std::variant<T, ApiError> value_;
};

}  // namespace foretoken::openai
