// What a client is told when a request fails: the error object of the OpenAI API.
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

// Says what was found and what was expected, never what a prompt contains.
struct ApiError {
  ErrorKind kind = ErrorKind::kInvalidRequest;
  std::string message;
  std::string param;  // the field, as in "messages[0].content"; null on the wire when empty
  std::string code;   // such as "invalid_type"; null on the wire when empty
};

// The status of the HTTP answer.
int HttpStatus(ErrorKind kind);
// The kind that has a status; kInvalidRequest where none has.
ErrorKind KindOfStatus(int status);
// Whether the same request may succeed later: answers say when (Retry-After).
bool MayRetry(ErrorKind kind);
// The type on the wire, as in "invalid_request_error".
std::string_view TypeName(ErrorKind kind);
// {"error": {"message", "type", "param", "code"}}
Json ErrorBody(const ApiError& error);

// The prompt and what it may be answered with exceed the context.
ApiError ContextLengthError(int prompt_tokens, int context, std::string param);
// The key is missing or wrong.
ApiError ApiKeyError();
// The endpoint is one of the API that this server lacks.
ApiError NotSupportedError(std::string_view endpoint);
// No such path.
ApiError NotFoundError();
// Every place in the queue is taken.
ApiError QueueFullError();
ApiError ShuttingDownError();
// The model is still loading, or the server is shutting down.
ApiError UnavailableError(std::string message);

// A value, or what the client is told instead.
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
