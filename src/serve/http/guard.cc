#include "serve/http/guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "serve/openai/error.h"

namespace foretoken {
namespace {

using std::string_view;

// Paths that need no key: the web page, which asks for the key itself, and the health checks, since
// monitoring has none.
constexpr string_view kOpenPaths[] = {"/", "/health", "/v1/health"};

bool Has(const std::vector<std::string>& names, string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool IsIp4(const std::string& text) {
  in_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

bool IsIp6(string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  in6_addr address{};
  return inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

// The host as it is written in a Host header: IPv6 addresses in brackets.
std::string Bracketed(const std::string& host) {
  return IsIp6(host) && !host.starts_with('[') ? "[" + host + "]" : host;
}

// "host:port" of an origin; "" if it has none, as in "null".
std::string AuthorityOf(string_view origin) {
  const size_t slashes = origin.find("://");
  return slashes == string_view::npos ? "" : LowerCase(origin.substr(slashes + 3));
}

std::string Normalised(std::string origin) {
  while (origin.ends_with('/')) origin.pop_back();
  return LowerCase(origin);
}

HttpRefusal WrongHost() {
  return Refuse(403, "host_not_allowed",
                "The Host header does not name this server. Start the server with --allowed-host "
                "NAME to accept NAME.");
}

HttpRefusal WrongOrigin() {
  return Refuse(403, "origin_not_allowed",
                "The request comes from a web page of another origin. Start the server with "
                "--cors-origin ORIGIN to allow its pages.");
}

HttpRefusal WrongKey() {
  HttpRefusal refusal = Refuse(openai::ApiKeyError());
  refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
  return refusal;
}

}  // namespace

bool EqualInConstantTime(string_view a, string_view b) {
  // Copies of a fixed size: neither the loop nor its memory accesses depend on the texts.
  unsigned char one[kMostKeyBytes] = {}, other[kMostKeyBytes] = {};
  std::memcpy(one, a.data(), std::min(a.size(), kMostKeyBytes));
  std::memcpy(other, b.data(), std::min(b.size(), kMostKeyBytes));
  const size_t length = a.size() ^ b.size();
  volatile unsigned char difference = 0;  // volatile: the loop must not end early
  for (size_t i = 0; i < sizeof(length); ++i) {
    difference = difference | static_cast<unsigned char>(length >> (8 * i));
  }
  for (size_t i = 0; i < kMostKeyBytes; ++i) {
    difference = difference | static_cast<unsigned char>(one[i] ^ other[i]);
  }
  return difference == 0;
}

std::string HostName(string_view host) {
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == string_view::npos ? 0 : bracket);
  std::string name = LowerCase(host.substr(0, colon));
  if (name.ends_with('.')) name.pop_back();  // of a fully qualified DNS name
  return name;
}

Result<Guard> Guard::Create(GuardOptions options) {
  for (const std::string& key : options.api_keys) {
    const bool is_sendable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
    if (key.empty() || key.size() > kMostKeyBytes || !is_sendable) {
      return Error{"an API key has " + std::to_string(key.size()) + " bytes; expected 1 to " +
                   std::to_string(kMostKeyBytes) + " ASCII characters without blanks"};
    }
  }
  options.host = Bracketed(LowerCase(options.host));
  for (std::string& host : options.allowed_hosts) host = HostName(Bracketed(host));
  for (std::string& origin : options.cors_origins) origin = Normalised(std::move(origin));
  return Guard(std::move(options));
}

std::optional<HttpRefusal> Guard::Check(const RequestHead& head) const {
  const std::string* host = head.Find("host");
  if (host != nullptr && !HostIsServed(HostName(*host))) return WrongHost();
  if (head.method == "OPTIONS") return std::nullopt;  // preflights carry no key
  if (!head.is_read_only() && ComesFromElsewhere(head)) return WrongOrigin();
  const bool is_open =
      head.is_read_only() && std::ranges::find(kOpenPaths, head.path) != std::end(kOpenPaths);
  if (!is_open && !options_.api_keys.empty() && !HasKey(head)) return WrongKey();
  return std::nullopt;
}

bool Guard::HostIsServed(const std::string& host) const {
  constexpr string_view kOwn[] = {"localhost", "127.0.0.1", "[::1]"};
  if (std::ranges::find(kOwn, host) != std::end(kOwn) || host == options_.host) return true;
  if (Has(options_.allowed_hosts, "*") || Has(options_.allowed_hosts, host)) return true;
  // A literal address in Host rules out DNS rebinding.
  return !options_.is_loopback && (IsIp4(host) || IsIp6(host));
}

bool Guard::HasKey(const RequestHead& head) const {
  constexpr string_view kScheme = "bearer ";
  bool has_key = false;
  for (const auto& [name, value] : head.headers) {
    if (name == "x-api-key") has_key = IsKey(value) || has_key;
    if (name != "authorization" || value.size() < kScheme.size()) continue;
    if (!EqualsIgnoringCase(string_view(value).substr(0, kScheme.size()), kScheme)) continue;
    const size_t begin = value.find_first_not_of(' ', kScheme.size());
    has_key = (begin != std::string::npos && IsKey(string_view(value).substr(begin))) || has_key;
  }
  return has_key;
}

bool Guard::IsKey(string_view text) const {
  bool is_key = false;
  for (const std::string& key : options_.api_keys)
    is_key = EqualInConstantTime(text, key) || is_key;
  return is_key;
}

bool Guard::OriginIsAllowed(const std::string& origin) const {
  return Has(options_.cors_origins, "*") || Has(options_.cors_origins, Normalised(origin));
}

bool Guard::ComesFromElsewhere(const RequestHead& head) const {
  const std::string* origin = head.Find("origin");
  if (origin != nullptr && OriginIsAllowed(*origin)) return false;
  // A page cannot forge this header. It also works behind a proxy that changes Host, where
  // comparing Origin with Host would fail.
  const std::string* site = head.Find("sec-fetch-site");
  if (site != nullptr) return *site != "same-origin" && *site != "none";
  if (origin == nullptr) return false;
  const std::string* host = head.Find("host");
  const std::string authority = AuthorityOf(*origin);
  return authority.empty() || host == nullptr || authority != LowerCase(*host);
}

HttpHeaders Guard::CorsHeaders(const RequestHead& head) const {
  if (options_.cors_origins.empty()) return {};
  HttpHeaders headers;
  const std::string* origin = head.Find("origin");
  if (Has(options_.cors_origins, "*")) {
    headers.emplace_back("Access-Control-Allow-Origin", "*");
  } else {
    headers.emplace_back("Vary", "Origin");
    if (origin == nullptr || !OriginIsAllowed(*origin)) return headers;
    headers.emplace_back("Access-Control-Allow-Origin", *origin);
  }
  headers.emplace_back("Access-Control-Expose-Headers", "Retry-After");
  return headers;
}

HttpReply Guard::AnswerOptions(const RequestHead& head) const {
  HttpReply reply{.status = 204, .content_type = ""};
  const std::string* origin = head.Find("origin");
  const bool is_preflight = head.Find("access-control-request-method") != nullptr;
  if (origin == nullptr || !is_preflight || !OriginIsAllowed(*origin)) return reply;
  reply.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
  // "*" stands for all headers except Authorization.
  reply.headers.emplace_back("Access-Control-Allow-Headers",
                             "Authorization, Content-Type, X-Api-Key, *");
  reply.headers.emplace_back("Access-Control-Max-Age", "7200");
  if (head.Find("access-control-request-private-network") != nullptr) {
    reply.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  }
  return reply;
}

}  // namespace foretoken
