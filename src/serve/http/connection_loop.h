// The thread that accepts connections and reads requests. Clients that are idle, slow or many cost
// it memory, not threads: a request reaches a worker when all of it is there.
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
  size_t body_bytes = size_t{256} << 20;  // of all requests together that are read or answered
  double keep_alive_seconds = 60;         // between two requests
  double head_seconds = 10;               // for a head
  double body_seconds = 30;               // for a body, and a second more for each 64 KiB
};

// Whoever the loop reads requests for. Called in the loop's thread.
class RequestTaker {
 public:
  virtual ~RequestTaker() = default;
  // Why a request with this head is not let in, if it is not: its body is then not read.
  virtual std::optional<HttpRefusal> Judge(const RequestHead& head) = 0;
  // Takes a connection whose request is complete; it comes back by ConnectionLoop::Return. False
  // where too many are being answered.
  virtual bool Take(std::unique_ptr<Connection>& connection) = 0;
  // Sends the refusal without waiting for anything.
  virtual void Refuse(Connection& connection, const HttpRefusal& refusal) = 0;
};

// Thread-safety: Run is for one thread, Return, Drain and Stop for any.
class ConnectionLoop {
 public:
  // Borrows `taker`. Errors: the system gives no files.
  static Result<std::unique_ptr<ConnectionLoop>> Create(FileHandle listener,
                                                        const LoopOptions& options,
                                                        RequestTaker& taker);

  // Serves until Stop is called, and closes all connections then.
  void Run();
  // Gives back a connection that was taken: its `was_answered` says what came of the request. Needs
  // no memory.
  void Return(std::unique_ptr<Connection> connection);
  // Accepts no more connections, closes those that are idle, and the others after their answers.
  void Drain();
  bool is_draining() const { return is_draining_; }
  // Ends Run. REQUIRES: connections that were taken have been returned, or are dropped.
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
  // Goes on with what was read of a connection. It may be gone afterwards.
  void Proceed(Connection& connection);
  // Judges a head that is whole. Returns whether the request is let in.
  bool Admit(Connection& connection);
  bool CountBody(Connection& connection);
  void ForgetBody(Connection& connection);
  void Dispatch(Connection& connection);
  void Refuse(Connection& connection, const HttpRefusal& refusal);
  // Tells the client that nothing follows, and waits a little for it to close: bytes that it still
  // sends would otherwise make the system discard the end of the answer.
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
  FileHandle listener_;  // closed: the loop drains
  FileHandle epoll_, wake_;

  std::unordered_map<int, std::unique_ptr<Connection>> connections_;  // those not taken, by file
  size_t taken_ = 0;
  std::list<int> idle_;    // longest idle first
  size_t body_bytes_ = 0;  // of all bodies
  std::vector<char> buffer_;
  Clock::time_point now_;            // when the last events came
  Clock::time_point next_deadline_;  // no deadline is earlier
  std::optional<Clock::time_point> accepts_again_;

  std::atomic<bool> is_draining_ = false, is_stopped_ = false;
  std::mutex mutex_;
  std::unique_ptr<Connection> returned_;  // the list of them; guarded by mutex_
};

}  // namespace foretoken
