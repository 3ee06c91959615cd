#include "serve/openai/error.h"

#include "base/json.h"

namespace foretoken::openai {
namespace {

struct KindLine {
  ErrorKind kind;
  int status;
  std::string_view type;
};

constexpr KindLine kKinds[] = {
    {ErrorKind::kInvalidRequest, 400, "invalid_request_error"},
    {ErrorKind::kAuthentication, 401, "authentication_error"},
    {ErrorKind::kPermission, 403, "permission_error"},
    {ErrorKind::kNotFound, 404, "not_found_error"},
    {ErrorKind::kMethodForbidden, 405, "invalid_request_error"},
    {ErrorKind::kTooLarge, 413, "invalid_request_error"},
    {ErrorKind::kRateLimit, 429, "rate_limit_error"},
    {ErrorKind::kServer, 500, "server_error"},
    {ErrorKind::kNotSupported, 501, "not_supported_error"},
    {ErrorKind::kUnavailable, 503, "unavailable_error"},
};

const KindLine& LineOf(ErrorKind kind) {
  for (const KindLine& line : kKinds) {
    if (line.kind == kind) return line;
  }
  FT_CHECK(false);
  return kKinds[0];
}

Json NullWhenEmpty(const std::string& text) { return text.empty() ? Json() : Json(text); }

}  // namespace

int HttpStatus(ErrorKind kind) { return LineOf(kind).status; }

ErrorKind KindOfStatus(int status) {
  for (const KindLine& line : kKinds) {
    if (line.status == status) return line.kind;
  }
  return ErrorKind::kInvalidRequest;
}

bool MayRetry(ErrorKind kind) {
  return kind == ErrorKind::kRateLimit || kind == ErrorKind::kUnavailable;
}

std::string_view TypeName(ErrorKind kind) { return LineOf(kind).type; }

Json ErrorBody(const ApiError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", std::string(TypeName(error.kind))},
            {"param", NullWhenEmpty(error.param)},
            {"code", NullWhenEmpty(error.code)}}}};
}

ApiError ContextLengthError(int prompt_tokens, int context, std::string param) {
  return {.message = "The prompt has " + std::to_string(prompt_tokens) +
                     " tokens; expected fewer than " + std::to_string(context) +
                     ", the context that prompt and answer share.",
          .param = std::move(param),
          .code = "context_length_exceeded"};
}

ApiError ApiKeyError() {
  return {.kind = ErrorKind::kAuthentication,
          .message =
              "Invalid API key: expected 'Authorization: Bearer KEY' with a key of this "
              "server.",
          .code = "invalid_api_key"};
}

ApiError NotSupportedError(std::string_view endpoint) {
  return {.kind = ErrorKind::kNotSupported,
          .message = "This server does not offer " + std::string(endpoint) + ".",
          .code = "unsupported_endpoint"};
}

ApiError NotFoundError(std::string_view path) {
  std::string message = "There is no such path; /openapi.json lists the paths.";
  if (path.starts_with("/api/")) {
    message = "Ollama's own API is not offered; use /v1/chat/completions or /v1/completions.";
  } else if (path.starts_with("/v1/v1/")) {
    message = "There is no such path: /v1 is in the base URL and in the request.";
  } else if (path == "/completion") {
    message = "There is no such path; use /v1/completions.";
  }
  return {.kind = ErrorKind::kNotFound, .message = std::move(message), .code = "not_found"};
}

ApiError QueueFullError() {
  return {.kind = ErrorKind::kRateLimit,
          .message = "The queue is full; try again later.",
          .code = "queue_full"};
}

ApiError ShuttingDownError() { return UnavailableError("The server is shutting down."); }

ApiError UnavailableError(std::string message) {
  return {.kind = ErrorKind::kUnavailable, .message = std::move(message), .code = "unavailable"};
}

}  // namespace foretoken::openai
