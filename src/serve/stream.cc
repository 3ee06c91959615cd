#include "serve/stream.h"

#include <algorithm>
#include <utility>

namespace foretoken {

std::string_view FinishName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone:
      return "none";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kContext:
      return "context";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "";
}

void EventQueue::Push(AnswerEvent event) {
  {
    const std::lock_guard lock(mutex_);
    if (event.finish != FinishReason::kNone) --unfinished_;
    events_.push_back(std::move(event));
  }
  ready_.notify_all();
  if (on_ready_) on_ready_();
}

std::optional<AnswerEvent> EventQueue::Pop(std::chrono::nanoseconds timeout) {
  // Adding the timeout to the current time must not overflow.
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
  timeout = std::min(timeout, kLongest);
  std::unique_lock lock(mutex_);
  ready_.wait_for(lock, timeout, [this] { return !events_.empty() || unfinished_ == 0; });
  if (events_.empty()) return std::nullopt;
  AnswerEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

bool EventQueue::drained() const {
  const std::lock_guard lock(mutex_);
  return unfinished_ == 0 && events_.empty();
}

}  // namespace foretoken
