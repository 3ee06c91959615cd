#include "serve/http/refusal.h"

#include <utility>

#include "base/json.h"

namespace foretoken {

HttpRefusal Refuse(int status, std::string code, std::string message) {
  HttpRefusal refusal = Refuse({.kind = openai::KindOfStatus(status),
                                .message = std::move(message),
                                .code = std::move(code)});
  refusal.status = status;
  return refusal;
}

HttpRefusal Refuse(openai::ApiError error) {
  HttpRefusal refusal{.status = openai::HttpStatus(error.kind)};
  if (openai::MayRetry(error.kind)) refusal.headers.emplace_back("Retry-After", "1");
  // The openai clients otherwise retry every status from 500 on.
  if (error.kind == openai::ErrorKind::kNotSupported)
    refusal.headers.emplace_back("X-Should-Retry", "false");
  refusal.error = std::move(error);
  return refusal;
}

HttpRefusal Malformed(std::string message) {
  return Refuse(400, "malformed_request", std::move(message));
}

HttpReply ReplyOf(const HttpRefusal& refusal) {
  return {.status = refusal.status,
          .body = JsonText(openai::ErrorBody(refusal.error)),
          .headers = refusal.headers};
}

}  // namespace foretoken
