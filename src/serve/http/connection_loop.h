// The event loop that accepts connections and reads requests on one thread. Idle, slow or numerous
// clients cost memory, not threads: a worker gets a request only when all of it has arrived.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/input_file.h"
#include "base/result.h"
#include "serve/http/connection.h"
#include "serve/http/refusal.h"
#include "serve/http/request_reader.h"

namespace foretoken {

struct LoopOptions {
  ReaderLimits limits;
  size_t connections = 4096;              // open at once
  size_t body_bytes = size_t{256} << 20;  // total of all requests being read or answered
  double keep_alive_seconds = 60;         // between two requests
  double head_seconds = 10;               // for a head
  double body_seconds = 30;               // for a body, plus a second for each 64 KiB
};

// Receiver of the requests that the loop reads. Called on the loop's thread.
class RequestTaker {
 public:
  virtual ~RequestTaker() = default;
  // Returns a refusal if a request with this head is not admitted; its body is then not read.
  virtual std::optional<HttpRefusal> Judge(const RequestHead& head) = 0;
  // Takes a connection whose request is complete; ConnectionLoop::Return gives it back. Returns
  // false, leaving `connection` in place, if too many requests are being answered.
  virtual bool Take(std::unique_ptr<Connection>& connection) = 0;
  // Sends the refusal without blocking.
  virtual void Refuse(Connection& connection, const HttpRefusal& refusal) = 0;
};

// Thread-safety: one thread calls Run; any thread may call Return, Drain and Stop.
class ConnectionLoop {
 public:
  // Borrows `taker`. Errors: the system has no file descriptors left.
  static Result<std::unique_ptr<ConnectionLoop>> Create(FileHandle listener,
                                                        const LoopOptions& options,
                                                        RequestTaker& taker);

  // Serves until Stop is called, then closes all connections.
  void Run();
  // Gives back a taken connection; `was_answered` says whether its answer was sent. Allocates no
  // memory.
  void Return(std::unique_ptr<Connection> connection);
  // Stops accepting connections, closes idle ones at once and the others after their answers.
  void Drain();
  bool is_draining() const { return is_draining_; }
  // Ends Run. REQUIRES: taken connections have been returned or destroyed.
  void Stop();

 private:
  using Clock = Connection::Clock;

  ConnectionLoop(FileHandle listener, const LoopOptions& options, RequestTaker& taker);

  void Serve(int file);
  void AcceptAll();
  void Add(FileHandle socket);
  void TurnAway(FileHandle socket);
  void PauseAccepting();
  void ResumeAccepting();
  void StopAccepting();
  void TakeReturned();
  void Resume(std::unique_ptr<Connection> returned);
  void CloseIdle();
  void CloseLate();
  void CloseAll();

  void Read(Connection& connection);
  // Acts on what has been read from a connection. May close it, which destroys `connection`.
  void Proceed(Connection& connection);
  // Has a complete head judged. Returns whether the request is admitted.
  bool Admit(Connection& connection);
  bool CountBody(Connection& connection);
  void ForgetBody(Connection& connection);
  void Dispatch(Connection& connection);
  void Refuse(Connection& connection, const HttpRefusal& refusal);
  // Shuts down the sending side and waits briefly for the client to close. If the socket were
  // closed at once while the client is still sending, the kernel could discard the end of the
  // answer.
  void Finish(Connection& connection);
  void Rest(Connection& connection);
  void Unrest(Connection& connection);
  bool CloseOldestIdle();
  void Close(int file);

  void Watch(int file);
  void Unwatch(int file);
  void Wake();
  void SetDeadline(Connection& connection, Clock::time_point deadline);
  void SetReadingDeadline(Connection& connection);
  int Timeout() const;

  const LoopOptions options_;
  RequestTaker& taker_;
  FileHandle listener_;  // closed while the loop drains
  FileHandle epoll_, wake_;

  std::unordered_map<int, std::unique_ptr<Connection>> connections_;  // not taken, by file
  size_t taken_ = 0;
  std::list<int> idle_;    // file descriptors of idle connections, longest idle first
  size_t body_bytes_ = 0;  // total of all bodies
  std::vector<char> buffer_;
  Clock::time_point now_;            // time of the last events
  Clock::time_point next_deadline_;  // lower bound of all deadlines
  std::optional<Clock::time_point> accepts_again_;

  std::atomic<bool> is_draining_ = false, is_stopped_ = false;
  std::mutex mutex_;
  std::unique_ptr<Connection> returned_;  // linked list of returned connections, guarded by mutex_
};

}  // namespace foretoken
