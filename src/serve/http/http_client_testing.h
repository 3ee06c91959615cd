// A raw HTTP client for tests of the server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/input_file.h"
#include "serve/http/http_server.h"

namespace foretoken {

struct TestAnswer {
  int status = 0;    // 0: the connection ended before the answer was complete
  std::string head;  // as sent
  std::string body;  // chunks joined
  // The value of a header; "" if there is none.
  std::string Header(std::string_view name) const;
};

class TestClient {
 public:
  explicit TestClient(int port);

  bool is_connected() const { return socket_.is_open(); }
  // Returns false if the server accepts no more bytes.
  bool Send(std::string_view bytes);
  // The next answer. `has_body`: false for one to HEAD.
  TestAnswer Read(bool has_body = true);
  // Reads until `text` has arrived. Returns false if the connection ends first.
  bool ReadUntil(std::string_view text);
  // Reads to the end of the connection.
  std::string ReadAll();
  // Closes the connection. `resets`: with a TCP reset, like a program killed while reading.
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

// Sends one request on its own connection.
TestAnswer Ask(int port, const std::string& request);

// Starts a server on any free port. Aborts on failure.
std::unique_ptr<HttpServer> NewTestServer(HttpServerOptions options, HttpHandler handler);

}  // namespace foretoken
