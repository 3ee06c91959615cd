#include "serve/http/worker_pool.h"

#include <system_error>
#include <utility>

namespace foretoken {

bool WorkerPool::Push(std::unique_ptr<Connection>& connection) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return false;
    const size_t needed = busy_ + waiting_.size() + 1;
    if (needed > threads_.size() && threads_.size() < most_threads_) StartThread();
    if (threads_.empty() || needed > threads_.size() + most_waiting_) return false;
    waiting_.push_back(std::move(connection));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::StartThread() {
  try {
    threads_.emplace_back([this] { Run(); });
  } catch (const std::system_error&) {
    // The system refuses another thread; the existing ones continue.
  }
}

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return is_stopping_ || !waiting_.empty(); });
    if (is_stopping_) return;
    std::unique_ptr<Connection> connection = std::move(waiting_.front());
    waiting_.pop_front();
    ++busy_;
    lock.unlock();
    work_(std::move(connection));
    lock.lock();
    --busy_;
    if (busy_ == 0 && waiting_.empty()) idle_.notify_all();
  }
}

void WorkerPool::AwaitIdle(Connection::Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  idle_.wait_until(lock, deadline, [&] { return busy_ == 0 && waiting_.empty(); });
}

void WorkerPool::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    waiting_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace foretoken
