// A server of HTTP/1.1: connections in, requests to a handler, answers out.
//
// One thread accepts connections and reads requests (connection_loop.h), workers answer them
// (worker_pool.h) by cpp-httplib (answerer.h). Whoever may not ask is refused before his body is
// read (guard.h).
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
  int port = 8080;                 // 0: any that is free
  // Requests that are answered at once. More than the handler lets wait for something, so that
  // those it answers at once always find a worker.
  int workers = 84;
  int waiting = 128;          // requests that may wait for a worker; more are told 503
  size_t connections = 4096;  // open at once, or as many as this process may have
  ReaderLimits limits;
  GuardOptions guard;                     // `host` and `is_loopback` are set by the server
  bool logs = false;                      // a line for each request
  std::vector<std::string> logged_paths;  // shown in it; others are "other"
  double keep_alive_seconds = 60;         // between two requests of a connection
  double head_seconds = 10;               // for the head of a request
  double body_seconds = 30;               // for its body, and a second more for each 64 KiB
  double write_seconds = 30;              // for a client to take a part of an answer, likewise
  double ping_seconds = 15;               // between signs of life in a stream of events
  // Told the status of each request that is refused before the handler sees it, by any thread. May
  // be empty.
  std::function<void(int status)> on_refusal;
};

// Thread-safety: one thread, the owner's.
class HttpServer {
 public:
  // Listens. Clients that connect wait until Start is called. Errors: an address or a port that
  // cannot be had, a key that cannot be one.
  static Result<std::unique_ptr<HttpServer>> Bind(HttpServerOptions options);
  // As Stop(0).
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Answers requests by `handler` from now on. What the handler throws is status 500.
  void Start(HttpHandler handler);
  // Accepts no more connections and closes those that are idle. Requests that have begun are still
  // answered.
  void Drain();
  // Drains and waits for the answers under way, at most for `seconds`: those left then are cut off,
  // as if their clients had gone. Ends all threads.
  void Stop(double seconds);

  int port() const;
  bool is_loopback() const;  // only this machine reaches it
  std::string Url() const;   // "http://127.0.0.1:8080"

  // Whether the calling thread is one of a server's. There std::bad_alloc is caught: a request that
  // finds no memory fails alone.
  static bool OwnsThread();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace foretoken
