// A client that writes bytes and reads answers, for tests of the server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/input_file.h"
#include "serve/http/http_server.h"

namespace foretoken {

struct TestAnswer {
  int status = 0;    // 0: the connection ended before an answer was whole
  std::string head;  // as it was sent
  std::string body;  // chunks joined
  // The value of a header; "" where there is none.
  std::string Header(std::string_view name) const;
};

class TestClient {
 public:
  explicit TestClient(int port);

  bool is_connected() const { return socket_.is_open(); }
  // False where the server takes no more.
  bool Send(std::string_view bytes);
  // The next answer. `has_body`: false for one to HEAD.
  TestAnswer Read(bool has_body = true);
  // Reads until `text` has come. False where the connection ends before.
  bool ReadUntil(std::string_view text);
  // Everything to the end of the connection.
  std::string ReadAll();
  // Closes the connection; `resets`: as a program does that is killed in the middle of reading.
  void Close(bool resets = false);

 private:
  bool Fill();
  std::string Take(size_t bytes);
  std::string TakeChunks();

  FileHandle socket_;
  std::string input_;
};

// "METHOD PATH HTTP/1.1" with Host, more header lines and a body, whose length is added.
std::string RequestText(const std::string& method, const std::string& path,
                        const std::string& headers = "", const std::string& body = "");

// One request on a connection of its own.
TestAnswer Ask(int port, const std::string& request);

// A server on any port. Aborts where there is none.
std::unique_ptr<HttpServer> NewTestServer(HttpServerOptions options, HttpHandler handler);

}  // namespace foretoken
