#include "serve/http/connection_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "serve/http/sockets.h"

namespace foretoken {
namespace {

using std::chrono::milliseconds;

constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr int kMostReads = 16;    // reads of one connection before others are served
constexpr int kMostAccepts = 64;  // accepted connections before others are served
constexpr size_t kAlwaysTaken = size_t{64} << 10;  // body size accepted at any total
constexpr double kFinishSeconds = 2;
constexpr milliseconds kAcceptPause(100);

Connection::Clock::duration Seconds(double seconds) {
  return std::chrono::ceil<Connection::Clock::duration>(std::chrono::duration<double>(seconds));
}

HttpRefusal TooMany() {
  return Refuse(503, "overloaded", "The server has too many requests; try again later.");
}

HttpRefusal TooSlow() {
  return Refuse(408, "request_timeout", "The request took too long to arrive.");
}

}  // namespace

ConnectionLoop::ConnectionLoop(FileHandle listener, const LoopOptions& options, RequestTaker& taker)
    : options_(options),
      taker_(taker),
      listener_(std::move(listener)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      buffer_(kBufferBytes),
      now_(Clock::now()),
      next_deadline_(Clock::time_point::max()) {}

Result<std::unique_ptr<ConnectionLoop>> ConnectionLoop::Create(FileHandle listener,
                                                               const LoopOptions& options,
                                                               RequestTaker& taker) {
  std::unique_ptr<ConnectionLoop> loop(new ConnectionLoop(std::move(listener), options, taker));
  if (!loop->epoll_.is_open() || !loop->wake_.is_open()) {
    return Error{std::string("cannot wait for connections: ") + std::strerror(errno)};
  }
  loop->Watch(loop->wake_.get());
  loop->Watch(loop->listener_.get());
  return loop;
}

void ConnectionLoop::Run() {
  constexpr int kMostEvents = 64;
  epoll_event events[kMostEvents];
  while (!is_stopped_) {
    const int count = epoll_wait(epoll_.get(), events, kMostEvents, Timeout());
    now_ = Clock::now();
    for (int i = 0; i < count; ++i) Serve(events[i].data.fd);
    if (is_draining_ && listener_.is_open()) StopAccepting();
    TakeReturned();
    try {
      CloseLate();
    } catch (const std::exception&) {  // no memory: they are closed in a later iteration
    }
  }
  CloseAll();
}

void ConnectionLoop::Serve(int file) {
  if (file == wake_.get()) {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(wake_.get(), &count, sizeof(count));
    return;
  }
  try {
    if (listener_.is_open() && file == listener_.get()) return AcceptAll();
    // The connection may have been closed or taken by an earlier event of this batch.
    if (const auto found = connections_.find(file); found != connections_.end()) {
      Read(*found->second);
    }
  } catch (const std::exception&) {  // no memory: this client's request fails
    Close(file);
  }
}

void ConnectionLoop::AcceptAll() {
  for (int i = 0; i < kMostAccepts; ++i) {
    FileHandle socket = Accept(listener_.get());
    if (socket.is_open()) {
      const bool has_room = connections_.size() + taken_ < options_.connections;
      if (has_room || CloseOldestIdle()) {
        Add(std::move(socket));
      } else {
        TurnAway(std::move(socket));
      }
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    // No file descriptors or no memory. The pending connection would keep waking the loop.
    if (!CloseOldestIdle()) return PauseAccepting();
  }
}

void ConnectionLoop::Add(FileHandle socket) {
  const int file = socket.get();
  const auto added =
      connections_.emplace(file, std::make_unique<Connection>(std::move(socket), options_.limits));
  Connection& connection = *added.first->second;
  Watch(file);
  Rest(connection);
}

void ConnectionLoop::TurnAway(FileHandle socket) {
  Connection connection(std::move(socket), options_.limits);
  taker_.Refuse(connection, TooMany());
}

void ConnectionLoop::PauseAccepting() {
  Unwatch(listener_.get());
  accepts_again_ = now_ + kAcceptPause;
  next_deadline_ = std::min(next_deadline_, *accepts_again_);
}

void ConnectionLoop::ResumeAccepting() {
  if (!accepts_again_) return;
  accepts_again_.reset();
  Watch(listener_.get());
}

void ConnectionLoop::StopAccepting() {
  ResumeAccepting();
  Unwatch(listener_.get());
  listener_ = FileHandle();
  CloseIdle();
}

void ConnectionLoop::Return(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    connection->next = std::move(returned_);
    returned_ = std::move(connection);
  }
  Wake();
}

void ConnectionLoop::TakeReturned() {
  std::unique_ptr<Connection> newest;
  {
    const std::lock_guard lock(mutex_);
    newest = std::move(returned_);
  }
  std::unique_ptr<Connection> oldest;
  while (newest != nullptr) {
    std::unique_ptr<Connection> next = std::exchange(newest->next, std::move(oldest));
    oldest = std::exchange(newest, std::move(next));
  }
  while (oldest != nullptr) {
    std::unique_ptr<Connection> returned = std::exchange(oldest, nullptr);
    oldest = std::move(returned->next);
    const int file = returned->socket.get();
    --taken_;
    ForgetBody(*returned);
    try {
      if (returned->was_answered) Resume(std::move(returned));
    } catch (const std::exception&) {  // no memory
      Close(file);
    }
  }
}

void ConnectionLoop::Resume(std::unique_ptr<Connection> returned) {
  const int file = returned->socket.get();
  Connection& connection = *returned;
  connections_.emplace(file, std::move(returned));
  Watch(file);
  const bool goes_on =
      connection.reader.head().keeps_alive && !connection.peer_has_ended && listener_.is_open();
  if (!goes_on) return Finish(connection);
  connection.is_admitted = connection.has_begun = false;
  connection.reader.Next();
  Proceed(connection);
}

void ConnectionLoop::Read(Connection& connection) {
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t count = recv(connection.socket.get(), buffer_.data(), buffer_.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) return Close(connection.socket.get());
    connection.peer_has_ended = count == 0;
    if (connection.peer_has_ended) break;
    if (connection.is_closing) continue;  // its input is discarded
    connection.reader.Append({buffer_.data(), static_cast<size_t>(count)});
    const RequestReader::State state = connection.reader.state();
    // Bytes after a request stay in the kernel's buffer until the request is answered.
    if (state == RequestReader::State::kComplete || state == RequestReader::State::kRefused) break;
    if (!connection.is_admitted && state == RequestReader::State::kBody) break;
  }
  Proceed(connection);
}

void ConnectionLoop::Proceed(Connection& connection) {
  using State = RequestReader::State;
  if (connection.is_closing) {
    if (connection.peer_has_ended) Close(connection.socket.get());
    return;
  }
  const State state = connection.reader.state();
  if (state == State::kIdle) {
    if (connection.peer_has_ended || !listener_.is_open()) return Close(connection.socket.get());
    return Rest(connection);
  }
  Unrest(connection);
  if (!connection.has_begun) {
    connection.has_begun = true;
    connection.begin = now_;
  }
  if (state == State::kRefused) return Refuse(connection, connection.reader.refusal());
  if (state != State::kHead && !Admit(connection)) return;
  if (!CountBody(connection)) return Refuse(connection, TooMany());
  if (state == State::kComplete) return Dispatch(connection);
  if (connection.peer_has_ended) return Close(connection.socket.get());
  SetReadingDeadline(connection);
}

bool ConnectionLoop::Admit(Connection& connection) {
  if (connection.is_admitted) return true;
  const RequestHead& head = connection.reader.head();
  if (const auto refusal = taker_.Judge(head)) {
    Refuse(connection, *refusal);
    return false;
  }
  connection.is_admitted = true;
  connection.head_end = now_;
  if (head.expects_continue && connection.reader.state() == RequestReader::State::kBody) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    Send(connection.socket.get(), kContinue, now_, is_stopped_);
  }
  return true;
}

bool ConnectionLoop::CountBody(Connection& connection) {
  const size_t bytes = connection.reader.body_bytes();
  body_bytes_ += bytes - connection.counted_bytes;
  connection.counted_bytes = bytes;
  return bytes <= kAlwaysTaken || body_bytes_ <= options_.body_bytes;
}

void ConnectionLoop::ForgetBody(Connection& connection) {
  body_bytes_ -= std::exchange(connection.counted_bytes, 0);
}

void ConnectionLoop::Dispatch(Connection& connection) {
  const int file = connection.socket.get();
  Unwatch(file);
  auto node = connections_.extract(file);
  if (taker_.Take(node.mapped())) {
    ++taken_;
    return;
  }
  connections_.insert(std::move(node));
  Watch(file);
  Refuse(connection, TooMany());
}

void ConnectionLoop::Refuse(Connection& connection, const HttpRefusal& refusal) {
  taker_.Refuse(connection, refusal);
  Finish(connection);
}

void ConnectionLoop::Finish(Connection& connection) {
  ForgetBody(connection);
  if (connection.peer_has_ended) return Close(connection.socket.get());
  shutdown(connection.socket.get(), SHUT_WR);
  connection.is_closing = true;
  SetDeadline(connection, now_ + Seconds(kFinishSeconds));
}

void ConnectionLoop::Rest(Connection& connection) {
  if (!connection.idle) {
    connection.idle = idle_.insert(idle_.end(), connection.socket.get());
  }
  SetDeadline(connection, now_ + Seconds(options_.keep_alive_seconds));
}

void ConnectionLoop::Unrest(Connection& connection) {
  if (connection.idle) idle_.erase(*connection.idle);
  connection.idle.reset();
}

bool ConnectionLoop::CloseOldestIdle() {
  if (idle_.empty()) return false;
  Close(idle_.front());
  return true;
}

void ConnectionLoop::CloseIdle() {
  while (CloseOldestIdle()) {
  }
}

void ConnectionLoop::CloseAll() {
  TakeReturned();
  idle_.clear();
  connections_.clear();
  listener_ = FileHandle();
}

void ConnectionLoop::Close(int file) {
  const auto found = connections_.find(file);
  if (found == connections_.end()) return;
  ForgetBody(*found->second);
  Unrest(*found->second);
  connections_.erase(found);  // closing a file removes it from the epoll set
}

void ConnectionLoop::CloseLate() {
  if (now_ < next_deadline_) return;
  if (accepts_again_ && now_ >= *accepts_again_) ResumeAccepting();
  Clock::time_point next = accepts_again_.value_or(Clock::time_point::max());
  std::vector<int> late;
  for (const auto& [file, connection] : connections_) {
    if (connection->deadline <= now_) {
      late.push_back(file);
    } else {
      next = std::min(next, connection->deadline);
    }
  }
  next_deadline_ = next;
  for (const int file : late) {
    Connection& connection = *connections_.at(file);
    if (connection.idle || connection.is_closing) {
      Close(file);
    } else {
      Refuse(connection, TooSlow());
    }
  }
}

void ConnectionLoop::SetDeadline(Connection& connection, Clock::time_point deadline) {
  connection.deadline = deadline;
  next_deadline_ = std::min(next_deadline_, deadline);
}

void ConnectionLoop::SetReadingDeadline(Connection& connection) {
  if (!connection.is_admitted) {
    return SetDeadline(connection, connection.begin + Seconds(options_.head_seconds));
  }
  const double transfer = static_cast<double>(connection.counted_bytes) / kLeastBytesPerSecond;
  SetDeadline(connection, connection.head_end + Seconds(options_.body_seconds + transfer));
}

int ConnectionLoop::Timeout() const {
  if (next_deadline_ == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(next_deadline_ - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000));
}

void ConnectionLoop::Watch(int file) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = file}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, file, &event);
}

void ConnectionLoop::Unwatch(int file) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, file, nullptr); }

void ConnectionLoop::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
}

void ConnectionLoop::Drain() {
  is_draining_ = true;
  Wake();
}

void ConnectionLoop::Stop() {
  is_stopped_ = true;
  Wake();
}

}  // namespace foretoken
