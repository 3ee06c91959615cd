#include "serve/http/answerer.h"

#include <httplib.h>

#include <cmath>
#include <exception>
#include <string_view>
#include <utility>

#include "serve/http/refusal.h"
#include "serve/http/sockets.h"
#include "serve/openai/answer.h"

namespace foretoken {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Limits the number of answers that wait for their clients at the same time.
class Patience {
 public:
  explicit Patience(int most) : most_(most) {}
  // Returns false if the limit is reached.
  bool Begin() {
    if (++waiting_ <= most_) return true;
    --waiting_;
    return false;
  }
  void End() { --waiting_; }

 private:
  const int most_;
  std::atomic<int> waiting_ = 0;
};

// The stream that httplib reads from and writes to. httplib gets only a dummy first line to read:
// the request has already been read and checked by RequestReader. This is because httplib 0.11
// decodes percent escapes in header values, waits for the end of the connection if a body has no
// length, limits neither headers nor chunked or compressed bodies, and refuses forms above 8 KiB,
// the type that `curl -d` gives its JSON.
class ExchangeStream : public httplib::Stream {
 public:
  ExchangeStream(Exchange& exchange, Patience& patience, const std::atomic<bool>& is_stopped)
      : exchange_(exchange), patience_(patience), is_stopped_(is_stopped) {
    const std::string& method = exchange.head->method;
    line_ = (method == "HEAD" ? "HEAD" : "GET") + std::string(" / HTTP/1.1\r\n\r\n");
  }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override {
    const size_t count = line_.copy(bytes, size, at_);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    const std::string_view all(bytes, size);
    size_t sent = Send(exchange_.socket, all, Clock::now(), is_stopped_);
    if (sent < size && patience_.Begin()) {
      sent += Send(exchange_.socket, all.substr(sent), Deadline(size), is_stopped_);
      patience_.End();
    }
    exchange_.bytes += static_cast<int64_t>(sent);
    failed_ = failed_ || sent < size;
    return failed_ ? -1 : static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  // httplib refuses socket numbers that select() cannot handle, although it would not call select()
  // on this one.
  socket_t socket() const override { return 0; }

  bool failed() const { return failed_; }

 private:
  Clock::time_point Deadline(size_t bytes) const {
    if (exchange_.patience_seconds <= 0) return Clock::now();
    const std::chrono::duration<double> most(exchange_.patience_seconds +
                                             static_cast<double>(bytes) / kLeastBytesPerSecond);
    return Clock::now() + std::chrono::ceil<milliseconds>(most);
  }

  Exchange& exchange_;
  Patience& patience_;
  const std::atomic<bool>& is_stopped_;
  std::string line_;
  size_t at_ = 0;
  bool failed_ = false;
};

// Feeds a ReplyStream to httplib's content provider.
class StreamSource {
 public:
  StreamSource(std::unique_ptr<ReplyStream> stream, int socket, double ping_seconds,
               const std::atomic<bool>& is_stopped)
      : stream_(std::move(stream)),
        socket_(socket),
        ping_seconds_(ping_seconds),
        is_stopped_(is_stopped) {}

  // Writes the next bytes. Returns false to abort the answer.
  bool Write(httplib::DataSink& sink) {
    constexpr milliseconds kBetweenLooks(100);  // between checks of the client
    const std::optional<std::string> bytes = stream_->Next(kBetweenLooks);
    if (!bytes) {
      sink.done();
      return true;
    }
    if (is_stopped_ || PeerIsGone(socket_)) return false;
    if (!bytes->empty()) return Send(sink, *bytes);
    const std::chrono::duration<double> silence = Clock::now() - last_;
    return silence.count() < ping_seconds_ || Send(sink, openai::kSsePing);
  }

 private:
  bool Send(httplib::DataSink& sink, std::string_view bytes) {
    last_ = Clock::now();
    return sink.write(bytes.data(), bytes.size());
  }

  std::unique_ptr<ReplyStream> stream_;
  int socket_;
  double ping_seconds_;
  const std::atomic<bool>& is_stopped_;
  Clock::time_point last_ = Clock::now();
};

HttpReply InternalError() {
  return ReplyOf(Refuse(500, "internal_error", "The server failed to answer this request."));
}

// The standard library throws if an allocation fails.
HttpReply ReplyOrError(const Exchange& exchange) {
  try {
    return exchange.reply();
  } catch (const std::exception&) {
    return InternalError();
  }
}

}  // namespace

class Answerer::Writer : public httplib::Server {
 public:
  Writer(double ping_seconds, int most_waiting, const std::atomic<bool>& is_stopped)
      : ping_seconds_(ping_seconds), patience_(most_waiting), is_stopped_(is_stopped) {
    svr_sock_ = 0;  // never used; httplib aborts streams while it is invalid
    set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      Fill(*exchange_, response);
      return HandlerResponse::Handled;
    });
    set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
          response.headers.clear();
          response.body.clear();
          response.status = 500;
        });
    set_post_routing_handler(
        [](const httplib::Request&, httplib::Response& response) { Correct(response); });
  }

  bool Write(Exchange& exchange) {
    ExchangeStream stream(exchange, patience_, is_stopped_);
    exchange_ = &exchange;
    bool closes = false;
    const bool is_whole =
        process_request(stream, /*close_connection=*/!exchange.keeps_alive, closes, nullptr);
    exchange_ = nullptr;
    return is_whole && !stream.failed();
  }

 private:
  void Fill(Exchange& exchange, httplib::Response& response) const {
    HttpReply reply = ReplyOrError(exchange);
    response.status = reply.status;
    response.set_header("Server", "foretoken");
    response.set_header("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : exchange.headers) response.set_header(name, value);
    for (const auto& [name, value] : reply.headers) response.set_header(name, value);
    if (reply.content_type.starts_with("text/html")) {
      response.set_header("X-Frame-Options", "DENY");
    }
    if (reply.stream != nullptr) {
      FillStream(exchange, std::move(reply), response);
    } else if (!reply.content_type.empty()) {
      response.set_header("Content-Type", reply.content_type);
      response.body = std::move(reply.body);
    }
  }

  void FillStream(Exchange& exchange, HttpReply reply, httplib::Response& response) const {
    response.set_header("Cache-Control", "no-cache");
    response.set_header("X-Accel-Buffering", "no");  // stops nginx from buffering events
    const auto source = std::make_shared<StreamSource>(
        std::move(reply.stream), exchange.socket,
        reply.content_type.starts_with("text/event-stream") ? ping_seconds_ : HUGE_VAL,
        is_stopped_);
    const auto provide = [source](size_t, httplib::DataSink& sink) { return source->Write(sink); };
    if (exchange.head->is_http_1_0) {  // has no chunks: closing the connection ends the body
      response.set_content_provider(reply.content_type, provide);
    } else {
      response.set_chunked_content_provider(reply.content_type, provide);
    }
  }

  // Removes headers that httplib adds to every answer, where they would be wrong.
  static void Correct(httplib::Response& response) {
    exchange_->status = response.status;
    response.headers.erase("Keep-Alive");     // would promise a number of requests
    response.headers.erase("Accept-Ranges");  // ranges are not supported
    if (response.status == 204) response.headers.erase("Content-Length");
  }

  // The exchange that httplib is answering in this thread.
  static thread_local Exchange* exchange_;

  const double ping_seconds_;
  Patience patience_;
  const std::atomic<bool>& is_stopped_;
};

thread_local Exchange* Answerer::Writer::exchange_ = nullptr;

Answerer::Answerer(double ping_seconds, int most_waiting, const std::atomic<bool>& is_stopped)
    : writer_(std::make_unique<Writer>(ping_seconds, most_waiting, is_stopped)) {}

Answerer::~Answerer() = default;

bool Answerer::Answer(Exchange& exchange) { return writer_->Write(exchange); }

}  // namespace foretoken
