#include "serve/http/http_client_testing.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "serve/http/head.h"

namespace foretoken {

std::string TestAnswer::Header(std::string_view name) const {
  size_t at = 0;
  while ((at = head.find("\r\n", at)) != std::string::npos) {
    at += 2;
    const size_t colon = head.find(':', at);
    if (colon == std::string::npos) break;
    if (!EqualsIgnoringCase(std::string_view(head).substr(at, colon - at), name)) continue;
    const size_t begin = head.find_first_not_of(' ', colon + 1);
    return head.substr(begin, head.find('\r', begin) - begin);
  }
  return "";
}

TestClient::TestClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  FT_CHECK(socket_.is_open());
  const timeval patience{.tv_sec = 60, .tv_usec = 0};  // so that a failing test terminates
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    socket_ = FileHandle();
  }
}

bool TestClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool TestClient::Fill() {
  char bytes[4096];
  ssize_t count = 0;
  do {
    count = recv(socket_.get(), bytes, sizeof(bytes), 0);
  } while (count < 0 && errno == EINTR);
  EXPECT_FALSE(count < 0 && errno == EAGAIN) << "nothing came for a minute";
  if (count <= 0) return false;
  input_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string TestClient::Take(size_t bytes) {
  while (input_.size() < bytes && Fill()) {
  }
  std::string taken = input_.substr(0, bytes);
  input_.erase(0, bytes);
  return taken;
}

bool TestClient::ReadUntil(std::string_view text) {
  while (input_.find(text) == std::string::npos) {
    if (!Fill()) return false;
  }
  input_.erase(0, input_.find(text) + text.size());
  return true;
}

std::string TestClient::TakeChunks() {
  std::string body;
  while (true) {
    while (input_.find("\r\n") == std::string::npos) {
      if (!Fill()) return body;
    }
    const size_t size = std::strtoul(input_.c_str(), nullptr, 16);
    Take(input_.find("\r\n") + 2);
    body += Take(size);
    Take(2);
    if (size == 0) return body;
  }
}

TestAnswer TestClient::Read(bool has_body) {
  TestAnswer answer;
  while (input_.find("\r\n\r\n") == std::string::npos) {
    if (!Fill()) return answer;
  }
  answer.head = Take(input_.find("\r\n\r\n") + 2);
  Take(2);
  answer.status = std::atoi(answer.head.substr(answer.head.find(' ') + 1, 3).c_str());
  if (!has_body) return answer;
  if (answer.Header("Transfer-Encoding") == "chunked") {
    answer.body = TakeChunks();
  } else if (const std::string length = answer.Header("Content-Length"); !length.empty()) {
    answer.body = Take(std::strtoul(length.c_str(), nullptr, 10));
  } else if (answer.Header("Connection") == "close" && answer.status != 204) {
    answer.body = ReadAll();
  }
  return answer;
}

std::string TestClient::ReadAll() {
  while (Fill()) {
  }
  return std::exchange(input_, "");
}

void TestClient::Close(bool resets) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (resets) setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  socket_ = FileHandle();
}

std::string RequestText(const std::string& method, const std::string& path,
                        const std::string& headers, const std::string& body) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

TestAnswer Ask(int port, const std::string& request) {
  TestClient client(port);
  client.Send(request);
  return client.Read();
}

std::unique_ptr<HttpServer> NewTestServer(HttpServerOptions options, HttpHandler handler) {
  options.port = 0;
  auto server = HttpServer::Bind(std::move(options));
  FT_CHECK(server.ok());
  (*server)->Start(std::move(handler));
  return std::move(server).value();
}

}  // namespace foretoken
