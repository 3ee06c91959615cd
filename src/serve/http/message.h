// What a server of HTTP hands to whoever answers, and what it gets back.
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
  std::string method;  // any word; HEAD comes as "GET", OPTIONS does not come
  std::string path;    // decoded, without the query
  std::string body;
  // Whether nobody waits for the answer any more: the client has closed the connection, or the
  // server is being stopped. One system call. For the time of the handler's call; may be empty.
  std::function<bool()> is_gone;
};

// A body that is sent while it is being made. The server looks between the calls of Next whether
// the client is still there, and destroys the stream as soon as it is not. It also sends the pings:
// a stream of text/event-stream that has told nothing for some seconds gets a comment line.
class ReplyStream {
 public:
  virtual ~ReplyStream() = default;
  // The next bytes; an empty string where `timeout` passes first; nothing at the end. Destroying a
  // stream before its end cancels what it tells of.
  virtual std::optional<std::string> Next(std::chrono::milliseconds timeout) = 0;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  HttpHeaders headers;
  std::unique_ptr<ReplyStream> stream;  // instead of `body`
};

// Called by any number of threads at once.
using HttpHandler = std::function<HttpReply(const HttpRequest&)>;

}  // namespace foretoken
