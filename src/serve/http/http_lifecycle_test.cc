// Tests of clients that disconnect, wait, are slow or numerous, and of shutting the server down.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/http/http_client_testing.h"
#include "serve/http/http_server.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kCrowd = 200;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr size_t kCrowd = 200;
#else
constexpr size_t kCrowd = 1000;
#endif
#else
constexpr size_t kCrowd = 1000;
#endif

// A counter that threads can wait for.
class Count {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  // Waits until the count reaches `count`. Returns false on timeout.
  bool Await(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

// State shared with the handler: what it has observed, and whether it may continue.
struct Stage {
  Count entered, left, gone, streams_ended;
  std::atomic<bool> is_open = false;
};

// A stream that writes nothing, or repeats the same bytes, until it is destroyed.
class Endless : public ReplyStream {
 public:
  Endless(Stage& stage, std::string part) : stage_(stage), part_(std::move(part)) {}
  ~Endless() override { stage_.streams_ended.Add(); }
  std::optional<std::string> Next(milliseconds timeout) override {
    if (stage_.is_open) return std::nullopt;
    if (part_.empty()) std::this_thread::sleep_for(std::min(timeout, milliseconds(5)));
    return part_;
  }

 private:
  Stage& stage_;
  std::string part_;
};

HttpHandler HandlerOn(Stage& stage) {
  return [&stage](const HttpRequest& request) -> HttpReply {
    if (request.path == "/silent" || request.path == "/flood") {
      stage.entered.Add();
      const std::string part = request.path == "/flood" ? std::string(100'000, 'a') : "";
      return {.content_type = "text/event-stream",
              .stream = std::make_unique<Endless>(stage, part)};
    }
    if (request.path != "/wait") return {.body = "{}"};
    stage.entered.Add();
    while (!stage.is_open && !request.is_gone()) std::this_thread::sleep_for(milliseconds(5));
    if (!stage.is_open) stage.gone.Add();
    stage.left.Add();
    return {.body = "{\"waited\": true}"};
  };
}

TEST(HttpLifecycle, HandlersLearnThatTheirClientIsGone) {
  Stage stage;
  const auto server = NewTestServer({}, HandlerOn(stage));
  for (const bool resets : {false, true}) {
    TestClient client(server->port());
    client.Send(RequestText("POST", "/wait", "", "x"));
    ASSERT_TRUE(stage.entered.Await(resets ? 2 : 1));
    client.Close(resets);
    EXPECT_TRUE(stage.gone.Await(resets ? 2 : 1));
  }
}

TEST(HttpLifecycle, BytesOfTheNextRequestAreNoGoodbye) {
  Stage stage;
  const auto server = NewTestServer({}, HandlerOn(stage));
  TestClient client(server->port());
  client.Send(RequestText("POST", "/wait", "", "x"));
  ASSERT_TRUE(stage.entered.Await(1));
  client.Send(RequestText("GET", "/next"));
  std::this_thread::sleep_for(milliseconds(50));  // time for the handler to check several times
  stage.is_open = true;
  EXPECT_EQ(client.Read().body, "{\"waited\": true}");
  EXPECT_EQ(client.Read().body, "{}");
}

TEST(HttpLifecycle, StreamsEndWithTheirClients) {
  Stage stage;
  const auto server = NewTestServer({}, HandlerOn(stage));
  int ended = 0;
  for (const std::string path : {"/silent", "/flood"}) {
    for (const bool resets : {false, true}) {
      TestClient client(server->port());
      client.Send(RequestText("POST", path, "", "x"));
      ASSERT_TRUE(client.ReadUntil("\r\n\r\n"));
      client.Close(resets);
      EXPECT_TRUE(stage.streams_ended.Await(++ended)) << path;
    }
  }
}

TEST(HttpLifecycle, SilentStreamsGetPings) {
  Stage stage;
  const auto server = NewTestServer({.ping_seconds = 0.02}, HandlerOn(stage));
  TestClient client(server->port());
  client.Send(RequestText("POST", "/silent", "", "x"));
  ASSERT_TRUE(client.ReadUntil("\r\n\r\n"));
  EXPECT_TRUE(client.ReadUntil(": ping\n\n"));
  EXPECT_TRUE(client.ReadUntil(": ping\n\n"));
  stage.is_open = true;
  EXPECT_TRUE(client.ReadUntil("\r\n0\r\n\r\n"));
}

TEST(HttpLifecycle, ReadersThatTakeNothingAreDropped) {
  Stage stage;
  const auto server = NewTestServer({.write_seconds = 0.05}, HandlerOn(stage));
  TestClient client(server->port());
  client.Send(RequestText("POST", "/flood", "", "x"));
  EXPECT_TRUE(stage.streams_ended.Await(1));
}

TEST(HttpLifecycle, SlowHeadsAndBodiesAreDropped) {
  Stage stage;
  const auto server = NewTestServer({.head_seconds = 0.05, .body_seconds = 0.05}, HandlerOn(stage));
  TestClient head(server->port()), body(server->port());
  head.Send("GET / HTTP/1.1\r\nHo");
  body.Send(RequestText("POST", "/", "Content-Length: 5\r\n") + "ab");
  EXPECT_EQ(head.Read().status, 408);
  EXPECT_EQ(head.ReadAll(), "");
  EXPECT_EQ(body.Read().status, 408);
}

TEST(HttpLifecycle, IdleConnectionsAreClosed) {
  Stage stage;
  const auto server = NewTestServer({.keep_alive_seconds = 0.05}, HandlerOn(stage));
  TestClient fresh(server->port()), used(server->port());
  used.Send(RequestText("GET", "/health"));
  EXPECT_EQ(used.Read().status, 200);
  EXPECT_EQ(used.ReadAll(), "");
  EXPECT_EQ(fresh.ReadAll(), "");
}

// With the maximum number of waiting requests and many more connected clients, a health check still
// gets an answer.
TEST(HttpLifecycle, HealthIsAnsweredInACrowd) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const size_t most = files.rlim_max;  // the server raises the soft limit
  const size_t crowd = most > 2 * kCrowd + 300 ? kCrowd : 100;
  Stage stage;
  constexpr int kWaiting = 20;
  const auto server = NewTestServer({.workers = kWaiting + 2}, HandlerOn(stage));
  std::vector<std::unique_ptr<TestClient>> idle, waiting;
  for (size_t i = 0; i < crowd; ++i) {
    idle.push_back(std::make_unique<TestClient>(server->port()));
    ASSERT_TRUE(idle.back()->is_connected());
  }
  for (int i = 0; i < kWaiting; ++i) {
    waiting.push_back(std::make_unique<TestClient>(server->port()));
    waiting.back()->Send(RequestText("POST", "/wait", "", "x"));
  }
  ASSERT_TRUE(stage.entered.Await(kWaiting));
  EXPECT_EQ(Ask(server->port(), RequestText("GET", "/health")).status, 200);
  for (size_t i = 0; i < crowd; i += 50) {
    idle[i]->Send(RequestText("GET", "/health"));
    EXPECT_EQ(idle[i]->Read().status, 200);
  }
  stage.is_open = true;
  for (const auto& client : waiting) EXPECT_EQ(client->Read().status, 200);
}

TEST(HttpLifecycle, TheLongestIdleMakesRoom) {
  Stage stage;
  const auto server = NewTestServer({.workers = 1, .connections = 3}, HandlerOn(stage));
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<TestClient>(server->port()));
    clients.back()->Send(RequestText("GET", "/health"));
    EXPECT_EQ(clients.back()->Read().status, 200);
  }
  EXPECT_EQ(clients[0]->ReadAll(), "");
  for (int i = 1; i < 4; ++i) {
    clients[i]->Send(RequestText("GET", "/health"));
    EXPECT_EQ(clients[i]->Read().status, 200);
  }
}

TEST(HttpLifecycle, TooManyRequestsAreRefused) {
  Stage stage;
  const auto server = NewTestServer({.workers = 1, .waiting = 1}, HandlerOn(stage));
  TestClient first(server->port()), second(server->port()), third(server->port());
  first.Send(RequestText("POST", "/wait", "", "x"));
  ASSERT_TRUE(stage.entered.Await(1));
  second.Send(RequestText("GET", "/health"));
  third.Send(RequestText("GET", "/health"));
  // The first of the two requests to arrive waits, the other is refused.
  std::atomic<int> refused = 0;
  const auto read = [&](TestClient& client) {
    const TestAnswer answer = client.Read();
    if (answer.status == 200) return;
    EXPECT_EQ(answer.status, 503);
    EXPECT_EQ(answer.Header("Retry-After"), "1");
    ++refused;
    stage.is_open = true;
  };
  std::thread reader([&] { read(second); });
  read(third);
  reader.join();
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(first.Read().status, 200);
}

TEST(HttpLifecycle, DrainingAnswersWhatHasBegun) {
  Stage stage;
  const auto server = NewTestServer({}, HandlerOn(stage));
  TestClient idle(server->port()), waiting(server->port());
  idle.Send(RequestText("GET", "/health"));
  EXPECT_EQ(idle.Read().status, 200);
  waiting.Send(RequestText("POST", "/wait", "", "x"));
  ASSERT_TRUE(stage.entered.Await(1));
  server->Drain();
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(TestClient(server->port()).is_connected());
  stage.is_open = true;
  const TestAnswer answer = waiting.Read();
  EXPECT_EQ(answer.body, "{\"waited\": true}");
  EXPECT_EQ(waiting.ReadAll(), "");
  server->Stop(60);
}

TEST(HttpLifecycle, StoppingCutsOffWhatDoesNotEnd) {
  Stage stage;
  const auto server = NewTestServer({}, HandlerOn(stage));
  TestClient waiting(server->port()), streaming(server->port());
  waiting.Send(RequestText("POST", "/wait", "", "x"));
  streaming.Send(RequestText("POST", "/silent", "", "x"));
  ASSERT_TRUE(stage.entered.Await(2));
  server->Stop(0);
  EXPECT_TRUE(stage.left.Await(1));
  EXPECT_TRUE(stage.streams_ended.Await(1));
  streaming.ReadAll();
  server->Stop(0);  // a second call does nothing
}

TEST(HttpLifecycle, ATakenPortIsAnError) {
  Stage stage;
  const auto server = NewTestServer({}, HandlerOn(stage));
  const auto second = HttpServer::Bind({.port = server->port()});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos);
  EXPECT_FALSE(HttpServer::Bind({.host = "no-such-host.invalid", .port = 0}).ok());
}

TEST(HttpLifecycle, TellsItsAddress) {
  const auto server = HttpServer::Bind({.port = 0});
  ASSERT_TRUE(server.ok());
  EXPECT_EQ((*server)->Url(), "http://127.0.0.1:" + std::to_string((*server)->port()));
  EXPECT_TRUE((*server)->is_loopback());
  const auto open = HttpServer::Bind({.host = "0.0.0.0", .port = 0});
  ASSERT_TRUE(open.ok());
  EXPECT_FALSE((*open)->is_loopback());
}

}  // namespace
}  // namespace foretoken
