// The requests that the HTTP server passes to its handler, and the handler's replies.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace foretoken {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // any token; HEAD is passed as "GET", OPTIONS is never passed
  std::string path;    // decoded, without the query
  std::string body;
  // Returns whether the answer is no longer wanted: the client has closed the connection, or the
  // server is stopping. Costs one system call. Valid only during the handler's call; may be empty.
  std::function<bool()> is_gone;
};

// A body that is sent while it is produced. Between calls of Next the server checks whether the
// client is still connected, and destroys the stream as soon as it is not. The server also sends
// pings: a text/event-stream that has produced nothing for some seconds gets a comment line.
class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // Returns the next bytes; an empty string if `timeout` expires first; nothing at the end.
  // Destroying a stream before its end cancels the work behind it.
  virtual std::optional<std::string> Next(std::chrono::milliseconds timeout) = 0;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  HttpHeaders headers;
  std::unique_ptr<ReplyStream> stream;  // instead of `body`
};

// May be called by any number of threads at once.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

}  // namespace foretoken
