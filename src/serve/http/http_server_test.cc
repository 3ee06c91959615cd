// Tests of the server as seen by clients: requests, answers, refusals.
#include "serve/http/http_server.h"

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "serve/http/http_client_testing.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

// A stream of parts. The first call of Next times out.
class Parts : public ReplyStream {
 public:
  explicit Parts(std::vector<std::string> parts) : parts_(std::move(parts)) {}
  std::optional<std::string> Next(milliseconds) override {
    if (!std::exchange(has_paused_, true)) return "";
    if (at_ == parts_.size()) return std::nullopt;
    return parts_[at_++];
  }

 private:
  std::vector<std::string> parts_;
  size_t at_ = 0;
  bool has_paused_ = false;
};

HttpReply Answer(const HttpRequest& request) {
  if (request.path == "/stream") {
    return {
        .content_type = "text/event-stream",
        .stream = std::make_unique<Parts>(std::vector<std::string>{"data: 1\n\n", "data: 2\n\n"})};
  }
  if (request.path == "/page") return {.content_type = "text/html; charset=utf-8", .body = "<p>"};
  if (request.path == "/teapot") {
    return {.status = 418, .body = "{}", .headers = {{"Retry-After", "7"}}};
  }
  if (request.path == "/throw") throw std::bad_alloc();
  return {.body = request.method + " " + request.path + " " + request.body};
}

std::unique_ptr<HttpServer> NewServer(HttpServerOptions options = {}) {
  return NewTestServer(std::move(options), Answer);
}

// The code of the error object in the body; "" if there is none.
std::string CodeOf(const TestAnswer& answer) {
  const auto body = ParseJson(answer.body, "answer");
  if (!body.ok() || !body->contains("error")) return "";
  const Json& error = (*body)["error"];
  EXPECT_TRUE(error["message"].is_string());
  EXPECT_TRUE(error["type"].is_string());
  EXPECT_TRUE(error["param"].is_null());
  return error["code"].get<std::string>();
}

TEST(HttpServer, AnswersOverAndOverOnOneConnection) {
  const auto server = NewServer();
  TestClient client(server->port());
  for (const std::string body : {"one", "two", "three"}) {
    ASSERT_TRUE(client.Send(RequestText("POST", "/p?query", "", body)));
    const TestAnswer answer = client.Read();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "POST /p " + body);
    EXPECT_EQ(answer.Header("Content-Type"), "application/json");
    EXPECT_EQ(answer.Header("Server"), "foretoken");
    EXPECT_EQ(answer.Header("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(answer.Header("Connection"), "");
    EXPECT_EQ(answer.Header("Access-Control-Allow-Origin"), "");
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = NewServer();
  TestClient client(server->port());
  ASSERT_TRUE(client.Send(RequestText("GET", "/a") + RequestText("POST", "/stream", "", "x") +
                          RequestText("POST", "/b", "", "y") + RequestText("GET", "/c")));
  EXPECT_EQ(client.Read().body, "GET /a ");
  EXPECT_EQ(client.Read().body, "data: 1\n\ndata: 2\n\n");
  EXPECT_EQ(client.Read().body, "POST /b y");
  EXPECT_EQ(client.Read().body, "GET /c ");
}

TEST(HttpServer, ClosesWhereAsked) {
  const auto server = NewServer();
  TestClient client(server->port());
  client.Send(RequestText("GET", "/a", "Connection: close\r\n"));
  EXPECT_EQ(client.Read().Header("Connection"), "close");
  EXPECT_EQ(client.ReadAll(), "");
  TestClient old(server->port());
  old.Send("POST /stream HTTP/1.0\r\nContent-Length: 1\r\n\r\nx");
  const TestAnswer answer = old.Read();
  EXPECT_EQ(answer.Header("Transfer-Encoding"), "");  // not defined in HTTP/1.0
  EXPECT_EQ(answer.Header("Connection"), "close");
  EXPECT_EQ(answer.body, "data: 1\n\ndata: 2\n\n");
}

TEST(HttpServer, StreamsInChunks) {
  const auto server = NewServer();
  const TestAnswer answer =
      Ask(server->port(), RequestText("POST", "/stream", "Accept-Encoding: gzip, br\r\n", "x"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.Header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(answer.Header("Content-Type"), "text/event-stream");
  EXPECT_EQ(answer.Header("Cache-Control"), "no-cache");
  EXPECT_EQ(answer.Header("X-Accel-Buffering"), "no");
  EXPECT_EQ(answer.Header("Content-Encoding"), "");
  EXPECT_EQ(answer.body, "data: 1\n\ndata: 2\n\n");
}

// The answer to HEAD has the headers of GET's, but no body.
TEST(HttpServer, TellsTheHeadAlone) {
  const auto server = NewServer();
  TestClient client(server->port());
  client.Send(RequestText("HEAD", "/a") + RequestText("GET", "/a"));
  const TestAnswer head = client.Read(/*has_body=*/false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("Content-Length"), "7");
  EXPECT_EQ(head.Header("Accept-Ranges"), "");
  EXPECT_EQ(client.Read().body, "GET /a ");
}

TEST(HttpServer, AnswersOptions) {
  const auto server = NewServer({.guard = {.cors_origins = {"https://chat.example"}}});
  TestClient client(server->port());
  client.Send(RequestText("OPTIONS", "/v1/models"));
  const TestAnswer plain = client.Read();
  EXPECT_EQ(plain.status, 204);
  EXPECT_EQ(plain.Header("Content-Length"), "");
  EXPECT_EQ(plain.Header("Access-Control-Allow-Methods"), "");
  client.Send(
      RequestText("OPTIONS", "/v1/models",
                  "Origin: https://chat.example\r\nAccess-Control-Request-Method: POST\r\n"));
  const TestAnswer preflight = client.Read();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.Header("Access-Control-Allow-Origin"), "https://chat.example");
  EXPECT_EQ(preflight.Header("Access-Control-Allow-Methods"), "GET, HEAD, POST, OPTIONS");
}

TEST(HttpServer, LeavesOtherMethodsToTheHandler) {
  const auto server = NewServer();
  EXPECT_EQ(Ask(server->port(), RequestText("PUT", "/p", "", "x")).body, "PUT /p x");
  EXPECT_EQ(Ask(server->port(), RequestText("BREW", "/p")).body, "BREW /p ");
}

TEST(HttpServer, KeepsTheHandlersStatusAndHeaders) {
  const auto server = NewServer();
  const TestAnswer answer = Ask(server->port(), RequestText("GET", "/teapot"));
  EXPECT_EQ(answer.status, 418);
  EXPECT_EQ(answer.body, "{}");
  EXPECT_EQ(answer.Header("Retry-After"), "7");
}

TEST(HttpServer, PagesAreShownInNoFrame) {
  const auto server = NewServer();
  EXPECT_EQ(Ask(server->port(), RequestText("GET", "/page")).Header("X-Frame-Options"), "DENY");
  EXPECT_EQ(Ask(server->port(), RequestText("GET", "/a")).Header("X-Frame-Options"), "");
}

TEST(HttpServer, SurvivesAHandlerWithoutMemory) {
  const auto server = NewServer();
  TestClient client(server->port());
  client.Send(RequestText("GET", "/throw") + RequestText("GET", "/a"));
  const TestAnswer answer = client.Read();
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(CodeOf(answer), "internal_error");
  EXPECT_EQ(client.Read().status, 200);
}

TEST(HttpServer, TakesAnyTypeThatMayBeJson) {
  const auto server = NewServer();
  const std::string body(100'000, 'a');  // more than httplib accepts in a form
  for (const std::string type :
       {"application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded",
        "Application/JSON", "application/vnd.api+json"}) {
    const TestAnswer answer =
        Ask(server->port(), RequestText("POST", "/p", "Content-Type: " + type + "\r\n", body));
    EXPECT_EQ(answer.status, 200) << type;
    EXPECT_EQ(answer.body, "POST /p " + body);
  }
}

TEST(HttpServer, TakesBodiesInChunks) {
  const auto server = NewServer();
  EXPECT_EQ(Ask(server->port(), RequestText("POST", "/p", "Transfer-Encoding: chunked\r\n") +
                                    "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n")
                .body,
            "POST /p abcd");
  EXPECT_EQ(Ask(server->port(), RequestText("POST", "/p")).body, "POST /p ");  // without a length
}

TEST(HttpServer, SaysThatItWaitsForABody) {
  const auto server = NewServer({.limits = {.body_bytes = 100}});
  TestClient client(server->port());
  client.Send(RequestText("POST", "/p", "Expect: 100-continue\r\nContent-Length: 2\r\n"));
  ASSERT_TRUE(client.ReadUntil("HTTP/1.1 100 Continue\r\n\r\n"));
  client.Send("ab");
  EXPECT_EQ(client.Read().body, "POST /p ab");
  client.Send(RequestText("POST", "/p", "Expect: 100-continue\r\nContent-Length: 101\r\n"));
  EXPECT_EQ(client.Read().status, 413);  // without waiting for the body
}

struct RefusedCase {
  std::string request;
  int status;
  std::string code;
};

TEST(HttpServer, RefusesWithErrorObjects) {
  const auto server = NewServer({.limits = {.body_bytes = 100}});
  const RefusedCase cases[] = {
      {"nonsense\r\n\r\n", 400, "malformed_request"},
      {"GET /" + std::string(10'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414,
       "target_too_long"},
      {RequestText("POST", "/p", "", std::string(101, 'a')), 413, "body_too_large"},
      {RequestText("POST", "/p", "Content-Type: multipart/form-data; boundary=x\r\n", "--x--"), 415,
       "unsupported_media_type"},
      {RequestText("POST", "/p", "Content-Encoding: gzip\r\n", "x"), 415, "unsupported_encoding"},
      {RequestText("GET", "/p", "X-Long: " + std::string(70'000, 'a') + "\r\n"), 431,
       "headers_too_large"},
      {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "host_not_allowed"},
      {RequestText("POST", "/p", "Origin: http://evil.example\r\n", "x"), 403,
       "origin_not_allowed"},
  };
  for (const RefusedCase& c : cases) {
    TestClient client(server->port());
    client.Send(c.request);
    const TestAnswer answer = client.Read();
    EXPECT_EQ(answer.status, c.status);
    EXPECT_EQ(CodeOf(answer), c.code);
    EXPECT_EQ(answer.Header("Content-Type"), "application/json");
    EXPECT_EQ(answer.Header("Connection"), "close");
    EXPECT_EQ(answer.Header("Server"), "foretoken");
    EXPECT_EQ(client.ReadAll(), "");
  }
  EXPECT_EQ(Ask(server->port(), RequestText("GET", "/a")).status, 200);
}

TEST(HttpServer, RefusesHeaderFloods) {
  const auto server = NewServer();
  std::string many, long_ones;
  for (int i = 0; i < 101; ++i) many += "A: b\r\n";
  for (int i = 0; i < 99; ++i) long_ones += "A: " + std::string(1000, 'b') + "\r\n";
  for (const std::string& headers : {many, long_ones}) {
    const TestAnswer answer = Ask(server->port(), RequestText("GET", "/a", headers));
    EXPECT_EQ(answer.status, 431);
    EXPECT_EQ(CodeOf(answer), "headers_too_large");
  }
}

// The client sends the whole oversized body before it reads the answer.
TEST(HttpServer, RefusesLongBodiesSoThatTheClientLearnsOfIt) {
  const auto server = NewServer({.limits = {.body_bytes = 100}});
  const TestAnswer answer =
      Ask(server->port(), RequestText("POST", "/p", "", std::string(8 << 20, 'a')));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(CodeOf(answer), "body_too_large");
}

TEST(HttpServer, AsksForAKeyBeforeTheBody) {
  const auto server = NewServer({.guard = {.api_keys = {"key"}, .cors_origins = {"*"}}});
  TestClient client(server->port());
  client.Send(RequestText("POST", "/p", "Content-Length: 1000\r\nOrigin: https://a.example\r\n"));
  const TestAnswer answer = client.Read();
  EXPECT_EQ(answer.status, 401);
  EXPECT_EQ(CodeOf(answer), "invalid_api_key");
  EXPECT_EQ(answer.Header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(answer.Header("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(
      Ask(server->port(), RequestText("POST", "/p", "Authorization: Bearer key\r\n", "x")).status,
      200);
  EXPECT_EQ(Ask(server->port(), RequestText("GET", "/health")).status, 200);
}

}  // namespace
}  // namespace foretoken
