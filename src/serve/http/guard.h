// Who may ask: keys, the names that the server goes by, and the web pages that may use it.
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
  std::vector<std::string> api_keys;  // any of them; none: no key is needed
  std::string host;                   // the address or name that the server is bound to
  bool is_loopback = true;            // that address reaches this machine alone
  // More names in Host headers; "*": any.
  std::vector<std::string> allowed_hosts;
  // Origins ("https://chat.example.com") whose pages may use the server; "*": all.
  std::vector<std::string> cors_origins;
};

// Judges a request by its head, before its body is read. What it keeps away:
// - whoever has no key, where there are keys;
// - pages that reach the server by a name of their own that was pointed at its address (DNS
//   rebinding), for which Host must name the server;
// - pages of other sites that send it requests in the background. They could not read the answers,
//   but the answers would be computed: a browser sends "simple" requests without asking. Browsers
//   name the page's origin in them, which must be an allowed one or the server's own.
// Programs that are no browser send neither Origin nor Sec-Fetch-Site and are not affected.
//
// Immutable. Thread-safety: any number of threads.
class Guard {
 public:
  // Errors: a key that is empty or too long, or that no header can carry.
  static Result<Guard> Create(GuardOptions options);

  // Why the request is not let in, if it is not.
  std::optional<HttpRefusal> Check(const RequestHead& head) const;
  // The answer to an OPTIONS request: what a browser asks before it lets a page of another origin
  // send a request.
  HttpReply AnswerOptions(const RequestHead& head) const;
  // The headers that let the page read an answer; none where it may not.
  HttpHeaders CorsHeaders(const RequestHead& head) const;

 private:
  explicit Guard(GuardOptions options) : options_(std::move(options)) {}
  bool HostIsServed(const std::string& host) const;
  bool HasKey(const RequestHead& head) const;
  bool IsKey(std::string_view text) const;
  bool OriginIsAllowed(const std::string& origin) const;
  bool ComesFromElsewhere(const RequestHead& head) const;

  GuardOptions options_;  // names in lower case
};

// Whether two texts are equal, in a time that depends on neither where both have at most
// kMostKeyBytes bytes.
inline constexpr size_t kMostKeyBytes = 256;
bool EqualInConstantTime(std::string_view a, std::string_view b);

// The name or address in a Host header: without its port, brackets of IPv6 kept, in lower case.
std::string HostName(std::string_view host);

}  // namespace foretoken
