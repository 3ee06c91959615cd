// A thread pool that answers requests, and its queue of connections.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "serve/http/connection.h"

namespace foretoken {

// First come, first served. Threads are started on demand. Thread-safety: any number of threads,
// except Stop and the destructor, which only the owner's thread may call.
class WorkerPool {
 public:
  using Work = std::function<void(std::unique_ptr<Connection>)>;

  // `threads`: maximum number of threads. `waiting`: connections that may wait while all threads
  // are busy.
  WorkerPool(int threads, int waiting, Work work)
      : most_threads_(static_cast<size_t>(threads)),
        most_waiting_(static_cast<size_t>(waiting)),
        work_(std::move(work)) {}
  ~WorkerPool() { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Takes the connection and returns true. Returns false if all threads are busy and the queue is
  // full.
  bool Push(std::unique_ptr<Connection>& connection);
  // Returns when no request is being answered and none waits, or when `deadline` has passed.
  void AwaitIdle(Connection::Clock::time_point deadline);
  // Drops waiting connections and returns when the requests being answered are done.
  void Stop();

 private:
  void Run();
  void StartThread();

  const size_t most_threads_, most_waiting_;
  const Work work_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable wake_, idle_;
  std::deque<std::unique_ptr<Connection>> waiting_;
  std::vector<std::thread> threads_;
  size_t busy_ = 0;  // threads that are answering
  bool is_stopping_ = false;
};

}  // namespace foretoken
