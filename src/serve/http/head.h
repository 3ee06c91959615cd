// The head of an HTTP/1 request: request line and headers (RFC 9112).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/message.h"
#include "serve/http/refusal.h"

namespace foretoken {

struct RequestHead {
  std::string method;
  std::string path;     // decoded, without the query
  HttpHeaders headers;  // in the order sent, names in lower case
  bool is_http_1_0 = false;

  bool keeps_alive = true;  // the connection may serve another request
  bool expects_continue = false;
  bool is_chunked = false;
  uint64_t length = 0;  // bytes of a body that is not chunked

  bool has_body() const { return is_chunked || length > 0; }
  bool is_read_only() const { return method == "GET" || method == "HEAD"; }
  // The value of the first header named `name`, which must be in lower case; null if there is none.
  const std::string* Find(std::string_view name) const;
};

// Whether the character may occur in a method or a header name.
bool IsTokenCharacter(char c);
// Whether two texts are equal, ignoring the case of ASCII letters.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);
std::string LowerCase(std::string_view text);

// Parses `text`, the bytes from the request line to the empty line, both included. Strict, so that
// no proxy can interpret the same bytes as a different request: one kind of line end, no folded
// lines, one length. Returns a refusal if the head is malformed.
std::optional<HttpRefusal> ParseHead(std::string_view text, RequestHead* head);

}  // namespace foretoken
