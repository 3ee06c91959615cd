// Access control: API keys, allowed Host names and allowed web origins.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/http/head.h"
#include "serve/http/message.h"
#include "serve/http/refusal.h"

namespace foretoken {

struct GuardOptions {
  std::vector<std::string> api_keys;  // any of them grants access; empty: no key is needed
  std::string host;                   // the address or name that the server is bound to
  bool is_loopback = true;            // that address is reachable only from this machine
  // Additional names allowed in Host headers; "*": any.
  std::vector<std::string> allowed_hosts;
  // Origins ("https://chat.example.com") whose pages may use the server; "*": all.
  std::vector<std::string> cors_origins;
};

// Judges a request by its head, before its body is read. It rejects:
// - clients without a key, if keys are configured;
// - pages that reach the server through their own host name, pointed at its address (DNS
//   rebinding): the Host header must name the server;
// - requests that pages of other sites send in the background. Such pages cannot read the answers,
//   but the answers would still be computed, because browsers send "simple" requests without a
//   preflight. Browsers add the page's origin to these requests; it must be an allowed origin or
//   the server's own.
// Clients other than browsers send neither Origin nor Sec-Fetch-Site and are not affected.
//
// Immutable. Thread-safety: any number of threads.
class Guard {
 public:
  // Errors: a key that is empty, longer than kMostKeyBytes, or not valid in a header.
  static Result<Guard> Create(GuardOptions options);

  // Returns a refusal if the request is not admitted.
  std::optional<HttpRefusal> Check(const RequestHead& head) const;
  // Returns the answer to an OPTIONS request, such as the preflight that a browser sends before it
  // lets a page of another origin send a request.
  HttpReply AnswerOptions(const RequestHead& head) const;
  // Returns the CORS headers that allow the requesting page to read an answer. For a page that may
  // not read it, returns only Vary if origins are configured, else nothing.
  HttpHeaders CorsHeaders(const RequestHead& head) const;

 private:
  explicit Guard(GuardOptions options) : options_(std::move(options)) {}
  bool HostIsServed(const std::string& host) const;
  bool HasKey(const RequestHead& head) const;
  bool IsKey(std::string_view text) const;
  bool OriginIsAllowed(const std::string& origin) const;
  bool ComesFromElsewhere(const RequestHead& head) const;

  GuardOptions options_;  // host names in lower case
};

// Compares two texts. The time depends on neither of them if both have at most kMostKeyBytes bytes.
inline constexpr size_t kMostKeyBytes = 256;
bool EqualInConstantTime(std::string_view a, std::string_view b);

// The name or address in a Host header: in lower case, without the port, IPv6 addresses with their
// brackets.
std::string HostName(std::string_view host);

}  // namespace foretoken
