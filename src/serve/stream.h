// Delivery of a request's answers from the engine's thread to the client.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "serve/request.h"

namespace foretoken {

// The event queue between the two threads. Thread-safety: any number of threads.
class EventQueue {
 public:
  // `answers`: number of answers to expect. `on_ready`: see Request.
  EventQueue(int answers, std::function<void()> on_ready)
      : unfinished_(answers), on_ready_(std::move(on_ready)) {}

  void Push(AnswerEvent event);
  // See Stream::Next.
  std::optional<AnswerEvent> Pop(std::chrono::nanoseconds timeout);
  // Whether all answers have finished and Pop has returned all of their events.
  bool drained() const;

  void Cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<AnswerEvent> events_;
  int unfinished_;
  std::function<void()> on_ready_;
  std::atomic<bool> is_cancelled_ = false;
};

// The client's end of the queue. Destroying it cancels unfinished answers. It may outlive the
// scheduler, which finishes every answer before it is destroyed. Thread-safety: one thread.
class Stream {
 public:
  Stream(uint64_t id, std::shared_ptr<EventQueue> events) : id_(id), events_(std::move(events)) {}
  ~Stream() { Cancel(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  uint64_t id() const { return id_; }
  // Waits for the next event of any answer and returns it. Returns nothing if `timeout` (a year at
  // most) expires first, or if all answers have ended.
  std::optional<AnswerEvent> Next(std::chrono::nanoseconds timeout) {
    return events_->Pop(timeout);
  }
  // Whether all events have been returned.
  bool ended() const { return events_->drained(); }
  // Ends the answers within one step.
  void Cancel() { events_->Cancel(); }

 private:
  uint64_t id_;
  std::shared_ptr<EventQueue> events_;
};

}  // namespace foretoken
