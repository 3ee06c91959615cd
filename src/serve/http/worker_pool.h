// Threads that answer, and the connections that wait for one.
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

// First come, first served. Threads are started as they are needed. Thread-safety: any number of
// threads, but for Stop and the destructor, which are for the owner's.
class WorkerPool {
 public:
  using Work = std::function<void(std::unique_ptr<Connection>)>;

  // `threads`: at most. `waiting`: connections that may wait while all threads are busy.
  WorkerPool(int threads, int waiting, Work work)
      : most_threads_(static_cast<size_t>(threads)),
        most_waiting_(static_cast<size_t>(waiting)),
        work_(std::move(work)) {}
  ~WorkerPool() { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Takes the connection, unless all threads are busy and all places to wait are taken.
  bool Push(std::unique_ptr<Connection>& connection);
  // Returns when nothing is being answered and nothing waits, or `deadline` has passed.
  void AwaitIdle(Connection::Clock::time_point deadline);
  // Drops what waits, and returns when what is being answered has been.
  void Stop();

 private:
  void Run();
  void StartThread();

  const size_t most_threads_, most_waiting_;
  const Work work_;

  std::mutex mutex_;  // of all below
  std::condition_variable wake_, idle_;
  std::deque<std::unique_ptr<Connection>> waiting_;
  std::vector<std::thread> threads_;
  size_t busy_ = 0;  // threads that answer
  bool is_stopping_ = false;
};

}  // namespace foretoken
