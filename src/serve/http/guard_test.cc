#include "serve/http/guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "serve/http/head.h"

namespace foretoken {
namespace {

Guard GuardOf(GuardOptions options) {
  if (options.host.empty()) options.host = "127.0.0.1";
  Result<Guard> guard = Guard::Create(std::move(options));
  EXPECT_TRUE(guard.ok());
  return std::move(guard).value();
}

RequestHead HeadOf(const std::string& method, HttpHeaders headers,
                   const std::string& path = "/v1/models") {
  const bool has_host =
      std::ranges::any_of(headers, [](const auto& header) { return header.first == "host"; });
  if (!has_host) headers.emplace_back("host", "localhost:8080");
  return {.method = method, .path = path, .headers = std::move(headers)};
}

// The status of the guard's refusal; 0 if the request is admitted.
int Verdict(const Guard& guard, const RequestHead& head) {
  const auto refusal = guard.Check(head);
  return refusal ? refusal->status : 0;
}

std::string HeaderOf(const HttpHeaders& headers, const std::string& name) {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(Guard, ComparesKeys) {
  EXPECT_TRUE(EqualInConstantTime("", ""));
  EXPECT_TRUE(EqualInConstantTime("secret", "secret"));
  EXPECT_FALSE(EqualInConstantTime("secret", "secreT"));
  EXPECT_FALSE(EqualInConstantTime("secret", "secre"));
  EXPECT_FALSE(EqualInConstantTime("secret", std::string("secret\0", 7)));
  const std::string long_key(kMostKeyBytes, 'a');
  EXPECT_TRUE(EqualInConstantTime(long_key, long_key));
  EXPECT_FALSE(EqualInConstantTime(long_key, long_key + "a"));
  EXPECT_FALSE(EqualInConstantTime("", std::string(256, '\0')));
}

TEST(Guard, RefusesKeysThatNoHeaderCarries) {
  for (const std::string key : {"", " ", "a b", "a\n", "ä"}) {
    EXPECT_FALSE(Guard::Create({.api_keys = {"good", key}}).ok()) << key;
  }
  EXPECT_FALSE(Guard::Create({.api_keys = {std::string(kMostKeyBytes + 1, 'a')}}).ok());
}

// A server without API keys admits requests with any key and without one.
TEST(Guard, NeedsNoKeyWhereThereIsNone) {
  EXPECT_EQ(Verdict(GuardOf({}), HeadOf("POST", {})), 0);
  EXPECT_EQ(Verdict(GuardOf({}), HeadOf("POST", {{"authorization", "Bearer any"}})), 0);
}

TEST(Guard, TakesAnyOfItsKeys) {
  const Guard guard = GuardOf({.api_keys = {"first", "second%20"}});
  for (const std::string value :
       {"Bearer first", "bearer first", "BEARER   first", "Bearer second%20"}) {
    EXPECT_EQ(Verdict(guard, HeadOf("POST", {{"authorization", value}})), 0) << value;
  }
  EXPECT_EQ(Verdict(guard, HeadOf("POST", {{"x-api-key", "second%20"}})), 0);
  EXPECT_EQ(
      Verdict(guard, HeadOf("POST", {{"authorization", "Bearer no"}, {"x-api-key", "first"}})), 0);
  for (const std::string value : {"", "Bearer", "Bearer ", "Bearer firs", "Bearer first2", "first",
                                  "Basic first", "Bearer second ", "Bearer FIRST"}) {
    EXPECT_EQ(Verdict(guard, HeadOf("POST", {{"authorization", value}})), 401) << value;
  }
  EXPECT_EQ(Verdict(guard, HeadOf("GET", {})), 401);
  EXPECT_EQ(Verdict(guard, HeadOf("GET", {{"x-api-key", ""}})), 401);
  EXPECT_EQ(HeaderOf(guard.Check(HeadOf("GET", {}))->headers, "WWW-Authenticate"), "Bearer");
}

TEST(Guard, LetsAnyoneSeeHealthAndPage) {
  const Guard guard = GuardOf({.api_keys = {"key"}});
  for (const std::string path : {"/", "/health", "/v1/health"}) {
    EXPECT_EQ(Verdict(guard, HeadOf("GET", {}, path)), 0) << path;
    EXPECT_EQ(Verdict(guard, HeadOf("HEAD", {}, path)), 0) << path;
    EXPECT_EQ(Verdict(guard, HeadOf("POST", {}, path)), 401) << path;
  }
  EXPECT_EQ(Verdict(guard, HeadOf("GET", {}, "/metrics")), 401);
  EXPECT_EQ(Verdict(guard, HeadOf("OPTIONS", {})), 0);
}

int HostVerdict(const Guard& guard, const std::string& host) {
  return Verdict(guard, HeadOf("GET", {{"host", host}}));
}

TEST(Guard, FindsTheNameInHost) {
  EXPECT_EQ(HostName("Example.COM:8080"), "example.com");
  EXPECT_EQ(HostName("example.com."), "example.com");
  EXPECT_EQ(HostName("[::1]:80"), "[::1]");
  EXPECT_EQ(HostName("[::1]"), "[::1]");
  EXPECT_EQ(HostName(""), "");
}

TEST(Guard, ServesItsOwnNamesOnly) {
  const Guard guard =
      GuardOf({.host = "127.0.0.2", .allowed_hosts = {"Models.example:443", "::2"}});
  for (const std::string host : {"localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080",
                                 "127.0.0.2", "models.example:443", "models.example.", "[::2]"}) {
    EXPECT_EQ(HostVerdict(guard, host), 0) << host;
  }
  for (const std::string host :
       {"evil.example", "localhost.evil.example", "evil.localhost.x", "", "192.168.0.1",
        "127.0.0.1.evil.example", "localhost@evil.example", "evil.example:8080"}) {
    EXPECT_EQ(HostVerdict(guard, host), 403) << host;
  }
  EXPECT_EQ(Verdict(guard, {.method = "GET", .path = "/health", .is_http_1_0 = true}), 0);
  EXPECT_EQ(HostVerdict(GuardOf({.host = "::1"}), "[::1]:8080"), 0);
  EXPECT_EQ(HostVerdict(GuardOf({.host = "MyBox"}), "mybox:8080"), 0);
}

// A server that other machines can reach accepts IP addresses and localhost as Host, and other
// names only if they are allowed.
TEST(Guard, ServesAddressesWhereOthersReachIt) {
  const Guard guard = GuardOf({.host = "0.0.0.0", .is_loopback = false});
  for (const std::string host : {"192.168.0.1:8080", "[fe80::1]:8080", "[::1]", "localhost"}) {
    EXPECT_EQ(HostVerdict(guard, host), 0) << host;
  }
  for (const std::string host : {"evil.example", "192.168.0.1.evil.example", "1.2.3", "[x]"}) {
    EXPECT_EQ(HostVerdict(guard, host), 403) << host;
  }
  const Guard any = GuardOf({.host = "0.0.0.0", .is_loopback = false, .allowed_hosts = {"*"}});
  EXPECT_EQ(HostVerdict(any, "any.example"), 0);
}

// The headers that a browser adds to a page's request.
HttpHeaders FromPage(const std::string& origin, const std::string& site) {
  HttpHeaders headers;
  if (!origin.empty()) headers.emplace_back("origin", origin);
  if (!site.empty()) headers.emplace_back("sec-fetch-site", site);
  return headers;
}

TEST(Guard, KeepsOtherSitesFromAsking) {
  const Guard guard = GuardOf({});
  const auto verdict = [&](const std::string& origin, const std::string& site) {
    return Verdict(guard, HeadOf("POST", FromPage(origin, site)));
  };
  EXPECT_EQ(verdict("", ""), 0);  // not a browser
  EXPECT_EQ(verdict("http://localhost:8080", ""), 0);
  EXPECT_EQ(verdict("http://localhost:8080", "same-origin"), 0);
  EXPECT_EQ(verdict("https://renamed.example", "same-origin"), 0);  // behind a proxy
  EXPECT_EQ(verdict("", "none"), 0);
  EXPECT_EQ(verdict("http://evil.example", ""), 403);
  EXPECT_EQ(verdict("http://evil.example", "cross-site"), 403);
  EXPECT_EQ(verdict("http://localhost:3000", "same-site"), 403);  // another program's page
  EXPECT_EQ(verdict("http://localhost", ""), 403);
  EXPECT_EQ(verdict("null", ""), 403);  // a file, or a sandbox
  EXPECT_EQ(verdict("null", "cross-site"), 403);
  EXPECT_EQ(verdict("", "cross-site"), 403);
  EXPECT_EQ(verdict("http://evil.example/http://localhost:8080", ""), 403);
  // Reading is cheap, and the browser withholds the answer from the page.
  EXPECT_EQ(Verdict(guard, HeadOf("GET", FromPage("http://evil.example", "cross-site"))), 0);
}

TEST(Guard, LetsAllowedOriginsAsk) {
  const Guard guard = GuardOf({.api_keys = {"key"}, .cors_origins = {"https://Chat.example/"}});
  HttpHeaders headers = FromPage("https://chat.example", "cross-site");
  EXPECT_EQ(Verdict(guard, HeadOf("POST", headers)), 401);
  headers.emplace_back("authorization", "Bearer key");
  EXPECT_EQ(Verdict(guard, HeadOf("POST", headers)), 0);
  EXPECT_EQ(Verdict(guard, HeadOf("POST", FromPage("http://chat.example", "cross-site"))), 403);
  const Guard all = GuardOf({.cors_origins = {"*"}});
  EXPECT_EQ(Verdict(all, HeadOf("POST", FromPage("null", "cross-site"))), 0);
}

TEST(Guard, SaysWhoMayReadAnswers) {
  const RequestHead ours = HeadOf("GET", FromPage("https://chat.example", ""));
  const RequestHead other = HeadOf("GET", FromPage("https://evil.example", ""));
  EXPECT_TRUE(GuardOf({}).CorsHeaders(ours).empty());
  const Guard guard = GuardOf({.cors_origins = {"https://chat.example"}});
  constexpr char kAllowed[] = "Access-Control-Allow-Origin";
  EXPECT_EQ(HeaderOf(guard.CorsHeaders(ours), kAllowed), "https://chat.example");
  EXPECT_EQ(HeaderOf(guard.CorsHeaders(ours), "Vary"), "Origin");
  EXPECT_EQ(HeaderOf(guard.CorsHeaders(other), kAllowed), "");
  EXPECT_EQ(HeaderOf(guard.CorsHeaders(other), "Vary"), "Origin");
  EXPECT_EQ(HeaderOf(GuardOf({.cors_origins = {"*"}}).CorsHeaders(other), kAllowed), "*");
}

TEST(Guard, AnswersPreflights) {
  HttpHeaders headers = FromPage("https://chat.example", "cross-site");
  headers.emplace_back("access-control-request-method", "POST");
  const RequestHead preflight = HeadOf("OPTIONS", headers);
  constexpr char kMethods[] = "Access-Control-Allow-Methods";
  const HttpReply refused = GuardOf({}).AnswerOptions(preflight);
  EXPECT_EQ(refused.status, 204);
  EXPECT_TRUE(refused.headers.empty());
  const Guard guard = GuardOf({.cors_origins = {"https://chat.example"}});
  const HttpReply allowed = guard.AnswerOptions(preflight);
  EXPECT_EQ(allowed.status, 204);
  EXPECT_EQ(HeaderOf(allowed.headers, kMethods), "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(HeaderOf(allowed.headers, "Access-Control-Allow-Headers"),
            "Authorization, Content-Type, X-Api-Key, *");
  EXPECT_EQ(HeaderOf(allowed.headers, "Access-Control-Max-Age"), "7200");
  EXPECT_EQ(HeaderOf(guard.AnswerOptions(HeadOf("OPTIONS", {})).headers, kMethods), "");
}

}  // namespace
}  // namespace foretoken
