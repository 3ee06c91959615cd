// The head of an HTTP/1 request: its first line and its headers (RFC 9112).
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
  HttpHeaders headers;  // in their order, names in lower case
  bool is_http_1_0 = false;

  bool keeps_alive = true;  // the connection may serve another request
  bool expects_continue = false;
  bool is_chunked = false;
  uint64_t length = 0;  // of the body, where it is not chunked

  bool has_body() const { return is_chunked || length > 0; }
  bool is_read_only() const { return method == "GET" || method == "HEAD"; }
  // The value of the first header of that name, given in lower case; null where there is none.
  const std::string* Find(std::string_view name) const;
};

// Whether a method or the name of a header may have the character.
bool IsTokenCharacter(char c);
// Whether two texts are the same but for the case of ASCII letters.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);
std::string LowerCase(std::string_view text);

// Parses `text`: everything from the first line to the empty line, both included. Strict, so that
// no proxy reads another request out of the same bytes: one kind of line end, no folded lines, one
// length. Returns what is wrong with it.
std::optional<HttpRefusal> ParseHead(std::string_view text, RequestHead* head);

}  // namespace foretoken
