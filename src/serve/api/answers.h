// All answers to one API request, from submission to completion.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "serve/api/answer_reader.h"
#include "serve/api/prepare.h"
#include "serve/api/served_model.h"
#include "serve/api/server_counts.h"
#include "serve/openai/answer.h"
#include "serve/openai/error.h"

namespace foretoken::openai {

// Destroying the object cancels unfinished answers. Thread-safety: one thread.
class Answers {
 public:
  // Submits the request. Borrows `served` and `counts`. Errors: those of Prepare, a full queue, a
  // scheduler that is shutting down.
  static ApiResult<std::unique_ptr<Answers>> Start(ServedModel& served, ServerCounts& counts,
                                                   Request request, const ServiceOptions& options);
  ~Answers();
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // Returns what was added since the last call. Waits up to `timeout` if nothing was.
  std::vector<Delta> Wait(std::chrono::milliseconds timeout);
  // Whether all answers have ended, or one has failed.
  bool ended() const { return unfinished_ == 0 || error_.has_value(); }
  // Why an answer failed; the others were cancelled.
  const std::optional<ApiError>& error() const { return error_; }

  const Request& request() const { return request_; }
  const AnswerHead& head() const { return head_; }
  int choices() const { return static_cast<int>(readers_.size()); }
  Usage TotalUsage() const;
  Timings TotalTimings() const;
  // The log of the only answer; null if there are several.
  const SpeculationLog* Log() const { return choices() == 1 ? &readers_[0].log() : nullptr; }
  // The body of the complete reply. REQUIRES: ended(), no error, a request that is not streamed.
  Json Whole();

 private:
  // Wakes the thread that waits for events of several streams.
  struct Bell {
    std::mutex mutex;
    std::condition_variable rung;
    bool is_rung = false;
    void Ring();
    void Await(std::chrono::milliseconds timeout);
  };
  using Clock = std::chrono::steady_clock;

  Answers(ServedModel& served, ServerCounts& counts, Request request,
          const ServiceOptions& options);
  std::optional<ApiError> Submit(std::vector<foretoken::Request> requests);
  void Poll(std::vector<Delta>& deltas);
  void Take(size_t stream, const AnswerEvent& event, std::vector<Delta>& deltas);
  void Fail(const AnswerEvent& event);
  void EndLate();

  ServedModel& served_;
  ServerCounts& counts_;
  const Request request_;
  AnswerHead head_;
  Prepared prepared_;  // `requests` has been moved to the scheduler
  std::vector<int> prompt_tokens_;
  std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::vector<std::unique_ptr<Stream>> streams_;  // one for each prompt
  std::vector<AnswerReader> readers_;             // [prompts * n], grouped by prompt
  std::vector<uint64_t> keys_;                    // keys of counts_, by reader
  std::vector<Clock::time_point> last_;           // time of each answer's last event
  int unfinished_ = 0;
  std::optional<ApiError> error_;
  std::optional<Clock::time_point> deadline_;
  bool is_late_ = false;
};

}  // namespace foretoken::openai
