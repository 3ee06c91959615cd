#include "serve/http/http_server.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "serve/http/answerer.h"
#include "serve/http/connection_loop.h"
#include "serve/http/request_log.h"
#include "serve/http/sockets.h"
#include "serve/http/worker_pool.h"

namespace foretoken {
namespace {

using Clock = Connection::Clock;
using std::string_view;

constexpr size_t kOtherFiles = 256;  // file descriptors that the process needs besides connections
constexpr size_t kBodiesAtOnce = 8;  // in bodies of the maximum size

thread_local bool t_is_owned = false;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The number of connections that the process can have open, at most `wanted`.
size_t Affordable(size_t wanted) {
  const size_t files = RaiseFileLimit(wanted + kOtherFiles);
  const size_t free = files > 2 * kOtherFiles ? files - kOtherFiles : files / 2;
  return std::clamp<size_t>(free, 1, wanted);
}

// The media type without its parameters, in lower case.
std::string MediaType(const std::string& value) {
  const std::string type = LowerCase(value.substr(0, value.find(';')));
  return type.substr(0, type.find_last_not_of(" \t") + 1);
}

// Whether a body of that type is accepted as JSON. Includes clients that give no type and the type
// that `curl -d` gives.
bool MayBeJson(const std::string& value) {
  const std::string type = MediaType(value);
  constexpr string_view kTypes[] = {"", "text/plain", "application/x-www-form-urlencoded"};
  return type.find("json") != std::string::npos ||
         std::ranges::find(kTypes, type) != std::end(kTypes);
}

std::optional<HttpRefusal> CheckContent(const RequestHead& head) {
  const std::string* coding = head.Find("content-encoding");
  if (coding != nullptr && !EqualsIgnoringCase(*coding, "identity")) {
    return Refuse(415, "unsupported_encoding",
                  "The body is compressed; expected uncompressed JSON.");
  }
  const std::string* type = head.Find("content-type");
  if (head.method != "POST" || type == nullptr || MayBeJson(*type)) return std::nullopt;
  return Refuse(415, "unsupported_media_type",
                "The Content-Type of the body is not supported; expected application/json.");
}

}  // namespace

class HttpServer::Impl final : public RequestTaker {
 public:
  Impl(HttpServerOptions options, Guard guard, int port, bool is_loopback)
      : options_(std::move(options)),
        guard_(std::move(guard)),
        port_(port),
        is_loopback_(is_loopback),
        answerer_(options_.ping_seconds, options_.workers / 2, is_cut_off_),
        pool_(options_.workers, options_.waiting,
              [this](std::unique_ptr<Connection> connection) { Answer(std::move(connection)); }) {}
  ~Impl() override { Stop(0); }

  Status Open(FileHandle listener) {
    const LoopOptions loop{.limits = options_.limits,
                           .connections = Affordable(options_.connections),
                           .body_bytes = kBodiesAtOnce * options_.limits.body_bytes,
                           .keep_alive_seconds = options_.keep_alive_seconds,
                           .head_seconds = options_.head_seconds,
                           .body_seconds = options_.body_seconds};
    FT_ASSIGN_OR_RETURN(loop_, ConnectionLoop::Create(std::move(listener), loop, *this));
    return {};
  }

  void Start(HttpHandler handler) {
    handler_ = std::move(handler);
    thread_ = std::thread([this] {
      t_is_owned = true;
      loop_->Run();
    });
  }

  void Drain() { loop_->Drain(); }

  void Stop(double seconds) {
    if (thread_.joinable()) {
      Drain();
      pool_.AwaitIdle(Clock::now() +
                      std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds)));
      is_cut_off_ = true;
      pool_.Stop();
      loop_->Stop();
      thread_.join();
    }
  }

  std::optional<HttpRefusal> Judge(const RequestHead& head) override {
    if (auto refusal = guard_.Check(head)) return refusal;
    return CheckContent(head);
  }

  bool Take(std::unique_ptr<Connection>& connection) override { return pool_.Push(connection); }

  void Refuse(Connection& connection, const HttpRefusal& refusal) override {
    Exchange exchange = ExchangeOn(connection);
    exchange.reply = [&] { return ReplyOf(refusal); };
    exchange.patience_seconds = 0;
    Send(connection, exchange);
    if (options_.on_refusal) options_.on_refusal(refusal.status);
  }

  int port() const { return port_; }
  bool is_loopback() const { return is_loopback_; }
  const std::string& host() const { return options_.host; }

 private:
  Exchange ExchangeOn(const Connection& connection) const {
    const RequestHead& head = connection.reader.head();
    return {.socket = connection.socket.get(),
            .head = &head,
            .headers = guard_.CorsHeaders(head),
            .patience_seconds = options_.write_seconds};
  }

  void Answer(std::unique_ptr<Connection> connection) {
    t_is_owned = true;
    try {
      connection->was_answered = AnswerRequest(*connection);
    } catch (const std::exception&) {  // no memory
      connection->was_answered = false;
    }
    loop_->Return(std::move(connection));
  }

  bool AnswerRequest(Connection& connection) {
    const RequestHead& head = connection.reader.head();
    const int socket = connection.socket.get();
    const HttpRequest request{.method = head.method == "HEAD" ? "GET" : head.method,
                              .path = head.path,
                              .body = connection.reader.TakeBody(),
                              .is_gone = [=, this] { return is_cut_off_ || PeerIsGone(socket); }};
    Exchange exchange = ExchangeOn(connection);
    exchange.keeps_alive = head.keeps_alive && !connection.peer_has_ended && !loop_->is_draining();
    exchange.reply = [&] {
      return head.method == "OPTIONS" ? guard_.AnswerOptions(head) : handler_(request);
    };
    return Send(connection, exchange);
  }

  bool Send(const Connection& connection, Exchange& exchange) {
    const bool is_whole = answerer_.Answer(exchange);
    if (options_.logs) {
      const double seconds = connection.has_begun ? SecondsSince(connection.begin) : 0;
      LogRequest(*exchange.head, options_.logged_paths, exchange.status, seconds, exchange.bytes);
    }
    return is_whole;
  }

  const HttpServerOptions options_;
  const Guard guard_;
  const int port_;
  const bool is_loopback_;
  HttpHandler handler_;
  std::atomic<bool> is_cut_off_ = false;  // answers in progress are cut off
  Answerer answerer_;
  std::unique_ptr<ConnectionLoop> loop_;
  WorkerPool pool_;
  std::thread thread_;  // the loop's
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Bind(HttpServerOptions options) {
  FT_ASSIGN_OR_RETURN(Listener listener, Listen(options.host, options.port));
  options.guard.host = options.host;
  options.guard.is_loopback = listener.is_loopback;
  FT_ASSIGN_OR_RETURN(Guard guard, Guard::Create(options.guard));
  auto impl = std::make_unique<Impl>(std::move(options), std::move(guard), listener.port,
                                     listener.is_loopback);
  FT_RETURN_IF_ERROR(impl->Open(std::move(listener.socket)));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

void HttpServer::Start(HttpHandler handler) { impl_->Start(std::move(handler)); }

void HttpServer::Drain() { impl_->Drain(); }

void HttpServer::Stop(double seconds) { impl_->Stop(seconds); }

int HttpServer::port() const { return impl_->port(); }

bool HttpServer::is_loopback() const { return impl_->is_loopback(); }

std::string HttpServer::Url() const {
  const std::string& host = impl_->host();
  const bool is_ip6 = host.find(':') != std::string::npos;
  return "http://" + (is_ip6 ? "[" + host + "]" : host) + ":" + std::to_string(impl_->port());
}

bool HttpServer::OwnsThread() { return t_is_owned; }

}  // namespace foretoken
