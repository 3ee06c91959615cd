#include "serve/http/refusal.h"

#include <utility>

#include "base/json.h"

namespace foretoken {
namespace {

using openai::ErrorKind;

ErrorKind KindOf(int status) {
  switch (status) {
    case 401:
      return ErrorKind::kAuthentication;
    case 403:
      return ErrorKind::kPermission;
    case 404:
      return ErrorKind::kNotFound;
    case 405:
      return ErrorKind::kMethodForbidden;
    case 413:
      return ErrorKind::kTooLarge;
    case 500:
      return ErrorKind::kServer;
    case 501:
      return ErrorKind::kNotSupported;
    case 503:
      return ErrorKind::kUnavailable;
    default:
      return ErrorKind::kInvalidRequest;
  }
}

}  // namespace

HttpRefusal Refuse(int status, std::string code, std::string message) {
  HttpRefusal refusal{
      .status = status,
      .error = {.kind = KindOf(status), .message = std::move(message), .code = std::move(code)}};
  if (status == 503) refusal.headers.emplace_back("Retry-After", "1");
  return refusal;
}

HttpRefusal Refuse(openai::ApiError error) {
  const int status = openai::HttpStatus(error.kind);
  return {.status = status, .error = std::move(error)};
}

HttpReply ReplyOf(const HttpRefusal& refusal) {
  return {.status = refusal.status,
          .body = JsonText(openai::ErrorBody(refusal.error)),
          .headers = refusal.headers};
}

}  // namespace foretoken
