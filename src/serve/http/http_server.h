// An HTTP/1.1 server that passes requests to a handler and sends its answers.
//
// One thread accepts connections and reads requests (connection_loop.h); workers (worker_pool.h)
// answer them through cpp-httplib (answerer.h). Requests that are not allowed are refused before
// their bodies are read (guard.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/http/guard.h"
#include "serve/http/message.h"
#include "serve/http/request_reader.h"

namespace foretoken {

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // a name or an address of this machine
  int port = 8080;                 // 0: any free port
  // Requests answered at the same time. Must exceed the number of requests that the handler lets
  // wait, so that requests it can answer immediately always find a worker.
  int workers = 84;
  int waiting = 128;          // requests that may wait for a worker; further ones get 503
  size_t connections = 4096;  // open at once, limited by the process's file descriptors
  ReaderLimits limits;
  GuardOptions guard;                     // `host` and `is_loopback` are set by the server
  bool logs = false;                      // log a line for each request
  std::vector<std::string> logged_paths;  // shown in the log; others are "other"
  double keep_alive_seconds = 60;         // between two requests of a connection
  double head_seconds = 10;               // for the head of a request
  double body_seconds = 30;               // for its body, plus a second for each 64 KiB
  double write_seconds = 30;              // for a part of an answer, plus a second for each 64 KiB
  double ping_seconds = 15;               // between keep-alive comments in a stream of events
  // Called with the status of each request refused before the handler sees it, by any thread. May
  // be empty.
  std::function<void(int status)> on_refusal;
};

// Thread-safety: one thread, the owner's.
class HttpServer {
 public:
  // Starts listening. Clients may connect but are not served until Start. Errors: an address or a
  // port that is not available, an invalid key.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpServerOptions options);
  // Calls Stop(0).
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Starts serving requests with `handler`. An exception thrown by the handler becomes status 500.
  void Start(HttpHandler handler);
  // Stops accepting connections and closes idle ones. Requests that have begun are still answered.
  void Drain();
  // Drains and waits up to `seconds` for answers in progress. Those left are cut off as if their
  // clients had disconnected. Ends all threads.
  void Stop(double seconds);

  int port() const;
  bool is_loopback() const;  // reachable only from this machine
  std::string Url() const;   // "http://127.0.0.1:8080"

  // Whether the calling thread belongs to a server. In such threads std::bad_alloc is caught, so
  // that running out of memory fails a single request.
  static bool OwnsThread();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken
