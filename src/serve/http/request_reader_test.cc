#include "serve/http/request_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace foretoken {
namespace {

using std::string_view_literals::operator""sv;
using State = RequestReader::State;

constexpr ReaderLimits kSmall{
    .line_bytes = 100, .head_bytes = 300, .head_lines = 5, .body_bytes = 20};

RequestReader ReaderOf(std::string_view bytes, const ReaderLimits& limits = {}) {
  RequestReader reader(limits);
  reader.Append(bytes);
  return reader;
}

// The status of a request's refusal; 0 if it is accepted.
int StatusOf(std::string_view bytes, const ReaderLimits& limits = {}) {
  const RequestReader reader = ReaderOf(bytes, limits);
  return reader.state() == State::kRefused ? reader.refusal().status : 0;
}

std::string Get(const std::string& headers) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n";
}

std::string Post(const std::string& headers_and_body) {
  return "POST /p HTTP/1.1\r\nHost: a\r\n" + headers_and_body;
}

TEST(RequestReader, ReadsAHead) {
  const RequestReader reader = ReaderOf(
      "GET /a%20b%zz?key=secret HTTP/1.1\r\nHOST:  example.com \r\nX-Empty:\r\nx-two: 1\r\nX-Two: "
      "2\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kComplete);
  const RequestHead& head = reader.head();
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.path, "/a b%zz");
  EXPECT_EQ(*head.Find("host"), "example.com");
  EXPECT_EQ(*head.Find("x-empty"), "");
  EXPECT_EQ(*head.Find("x-two"), "1");
  EXPECT_EQ(head.Find("x-three"), nullptr);
  EXPECT_EQ(head.headers.size(), 4u);
  EXPECT_TRUE(head.keeps_alive);
  EXPECT_FALSE(head.has_body());
}

TEST(RequestReader, ReadsRequestsInAnyPieces) {
  const std::string bytes =
      Post("Content-Length: 5\r\n\r\nhello") + "\r\n" +
      Post("Transfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n") +
      Get("") + "POST /n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    RequestReader reader({});
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      reader.Append(std::string_view(bytes).substr(at, piece));
      while (reader.state() == State::kComplete) {
        found.push_back(reader.head().method + reader.head().path + " " + reader.TakeBody());
        reader.Next();
      }
    }
    EXPECT_EQ(found, (std::vector<std::string>{"POST/p hello", "POST/p abcde", "GET/ "}))
        << "in pieces of " << piece;
    EXPECT_EQ(reader.state(), State::kHead);
  }
}

TEST(RequestReader, TellsItsState) {
  RequestReader reader({});
  EXPECT_EQ(reader.state(), State::kIdle);
  reader.Append("\r\n");  // some clients send this after a body
  EXPECT_EQ(reader.state(), State::kIdle);
  reader.Append("P");
  EXPECT_EQ(reader.state(), State::kHead);
  reader.Append("OST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n");
  EXPECT_EQ(reader.state(), State::kBody);
  EXPECT_TRUE(reader.head().expects_continue);
  reader.Append("abcd");
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.TakeBody(), "ab");
  reader.Next();
  EXPECT_EQ(reader.state(), State::kHead);  // "cd" begins the next request
}

TEST(RequestReader, KnowsWhatTheConnectionIsFor) {
  EXPECT_FALSE(ReaderOf(Get("Connection: close\r\n")).head().keeps_alive);
  EXPECT_FALSE(ReaderOf(Get("Connection: upgrade, Close\r\n")).head().keeps_alive);
  EXPECT_TRUE(ReaderOf(Get("Connection: keep-alive\r\n")).head().keeps_alive);
  EXPECT_FALSE(ReaderOf("GET / HTTP/1.0\r\n\r\n").head().keeps_alive);
}

TEST(RequestReader, TakesTheWholeUriAsTarget) {
  const RequestReader reader =
      ReaderOf("GET HTTP://b.example:80/path?x HTTP/1.1\r\nHost: a.example\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.head().path, "/path");
  EXPECT_EQ(*reader.head().Find("host"), "b.example:80");
  EXPECT_EQ(ReaderOf("GET http://b HTTP/1.1\r\nHost: b\r\n\r\n").head().path, "/");
}

TEST(RequestReader, RefusesWhatIsNoRequest) {
  EXPECT_EQ(StatusOf("\x16\x03\x01\x02"), 400);  // TLS
  EXPECT_EQ(StatusOf("\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\nHost: a\n\n"), 400);
  EXPECT_EQ(StatusOf("GET\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET  HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET ?a HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1x\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"sv), 400);
  EXPECT_EQ(StatusOf("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505);
}

TEST(RequestReader, RefusesBadHeaders) {
  EXPECT_EQ(StatusOf(Get("NoColon\r\n")), 400);
  EXPECT_EQ(StatusOf(Get("Blank : 1\r\n")), 400);
  EXPECT_EQ(StatusOf(Get(": 1\r\n")), 400);
  EXPECT_EQ(StatusOf(Get("A: 1\r\n folded\r\n")), 400);
  EXPECT_EQ(StatusOf(Get("A: b\rc\r\n")), 400);
  EXPECT_EQ(StatusOf(Get("Host: b\r\n")), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(StatusOf("GET / HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(StatusOf(Get("Expect: a-miracle\r\n")), 417);
}

// Prevents request smuggling: if two programs disagree on the length of a body, one of them takes
// its end for another request.
TEST(RequestReader, RefusesAmbiguousLengths) {
  EXPECT_EQ(StatusOf(Post("Content-Length: 1\r\nContent-Length: 1\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")), 400);
  EXPECT_EQ(StatusOf(Post("Transfer-Encoding: gzip, chunked\r\n\r\n")), 501);
  EXPECT_EQ(StatusOf("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  for (const std::string length : {"", "-1", "+1", "1, 1", "0x1", "1 1", "1234567890123456789"}) {
    EXPECT_EQ(StatusOf(Post("Content-Length: " + length + "\r\n\r\n")), 400) << length;
  }
}

TEST(RequestReader, RefusesBadChunks) {
  const std::string begin = "Transfer-Encoding: chunked\r\n\r\n";
  for (const std::string body :
       {"\r\n", "x\r\n", "-1\r\n", "123456789\r\n", "1\r\nab\r\n", "1\na\r\n", "0\r\na\n"}) {
    EXPECT_EQ(StatusOf(Post(begin + body)), 400) << body;
  }
  EXPECT_EQ(StatusOf(Post(begin + std::string(2000, '1'))), 400);
  EXPECT_EQ(StatusOf(Post(begin + "0\r\n" + std::string(9000, 'a'))), 400);
}

TEST(RequestReader, KeepsItsLimits) {
  const std::string line = "GET /" + std::string(86, 'a') + " HTTP/1.1\r\n";
  EXPECT_EQ(StatusOf("GET /" + std::string(96, 'a'), kSmall), 414);
  EXPECT_EQ(StatusOf("GET /" + std::string(80, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", kSmall), 0);
  EXPECT_EQ(StatusOf(line + "Host: a\r\n\r\n", kSmall), 414);
  EXPECT_EQ(StatusOf(Get("A: " + std::string(300, 'a')), kSmall), 431);
  EXPECT_EQ(StatusOf(Get("a: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\n"), kSmall), 0);
  EXPECT_EQ(StatusOf(Get("a: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\ne: 1\r\n"), kSmall), 431);
  EXPECT_EQ(StatusOf(Post("Content-Length: 20\r\n\r\n"), kSmall), 0);
  EXPECT_EQ(StatusOf(Post("Content-Length: 21\r\n\r\n"), kSmall), 413);
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(StatusOf(Post(chunked + "14\r\n"), kSmall), 0);
  EXPECT_EQ(StatusOf(Post(chunked + "15\r\n"), kSmall), 413);
  EXPECT_EQ(StatusOf(Post(chunked + "14\r\naaaaaaaaaaaaaaaaaaaa\r\n1\r\n"), kSmall), 413);
  std::string trailers;
  for (int i = 0; i < 1000; ++i) trailers += "trailer: 1\r\n";
  EXPECT_EQ(StatusOf(Post(chunked + "0\r\n" + trailers)), 431);
}

// An endless head must not take time quadratic in its length.
TEST(RequestReader, ReadsLongLinesByteByByte) {
  RequestReader reader({});
  const std::string bytes = Get("A: " + std::string(60'000, 'a') + "\r\n");
  for (const char& byte : bytes) reader.Append({&byte, 1});
  EXPECT_EQ(reader.state(), State::kComplete);
}

}  // namespace
}  // namespace foretoken
