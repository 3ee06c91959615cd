// The state of one answer inside the scheduler.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/session.h"
#include "serve/request.h"
#include "serve/stop_text.h"
#include "serve/stream.h"
#include "text/tokenizer.h"

namespace foretoken {

// An accepted request, shared by all of its answers.
struct ActiveRequest {
  uint64_t id = 0;
  Request asked;
  std::vector<Token> stop_tokens;  // the request's, plus the model's own unless ignore_eos is set
  int limit = 0;                   // maximum length of an answer in tokens, prompt included
  double submitted = 0;            // time of submission by the scheduler's clock, in seconds
  EventQueue events;

  ActiveRequest(uint64_t id, Request request, std::function<void()> on_ready)
      : id(id), asked(std::move(request)), events(asked.answers, std::move(on_ready)) {}
};

// One answer: its tokens so far and, while it runs, its session. A job without a session waits,
// either for its first admission or, after preemption, to be resumed with everything it has
// generated so far. Thread-safety: the engine's thread only.
class Job {
 public:
  Job(std::shared_ptr<ActiveRequest> request, int answer, const Tokenizer& tokenizer);

  ActiveRequest& request() const { return *request_; }
  const std::shared_ptr<ActiveRequest>& shared_request() const { return request_; }
  int answer() const { return answer_; }
  SamplingParams Sampling() const;
  // Constraint on the rest of the answer; null if there is none.
  const std::shared_ptr<const LogitFilter>& filter() const { return filter_; }
  // Prediction for the whole answer, including the part already delivered.
  Prediction prediction() const;
  // The prompt and all delivered tokens.
  std::span<const Token> text() const { return text_; }
  int prompt() const { return static_cast<int>(request_->asked.prompt.size()); }
  // Number of tokens that the answer may still get.
  int left() const { return request_->limit - static_cast<int>(text_.size()); }
  int written() const { return static_cast<int>(text_.size()) - prompt(); }
  bool is_cancelled() const { return request_->events.is_cancelled(); }

  // Holds text() and any tokens not delivered yet. Null while the job waits; set by Begin.
  std::unique_ptr<Session> session;
  bool was_admitted = false;
  int failures = 0;          // session errors that occurred while no other session failed
  size_t draft_bytes = 0;    // expected size of the drafter's state once text() has been processed
  double last_delivery = 0;  // time of the latest token delivery, by the scheduler's clock
  Usage usage;
  AnswerTimes times;

  // Makes `begun` the job's session. `begun` must already have been given text() as its prompt.
  void Begin(std::unique_ptr<Session> begun);
  // Destroys the session so that another can later resume from text(). REQUIRES: text() holds every
  // token that the session has generated.
  void SetAside();
  // Takes the tokens that the session has generated since the last call, up to the end of the first
  // stop string, and the cycle that produced them. Returns the event that describes them; an event
  // with no content need not be sent. `finish` is set if the answer has ended.
  AnswerEvent TakeWritten();
  // Whether a stop string has ended the answer. The session may hold further tokens after it.
  bool is_stopped_by_text() const { return shown_.stopped(); }
  // The cycle that produced the tokens of the last TakeWritten, truncated to the tokens that were
  // kept; null if no cycle produced them.
  const Cycle* last_cycle() const { return has_cycle_ ? &cycle_ : nullptr; }
  // Fills in the fields of the answer's last event. If the answer is complete, this includes text
  // that was held back.
  void Finish(FinishReason reason, std::string error, AnswerEvent* event);

 private:
  void TakeCycle(size_t fresh, size_t kept);
  // The copied runs among the first `kept` of the session's last `fresh` tokens.
  std::vector<CopiedRun> CopiesIn(size_t fresh, size_t kept) const;

  std::shared_ptr<ActiveRequest> request_;
  int answer_;
  const Tokenizer& tokenizer_;
  std::vector<Token> text_;
  std::shared_ptr<const LogitFilter> filter_;
  StopText shown_;
  bool drops_space_;        // whether the first piece of the text loses its leading space
  size_t cycles_seen_ = 0;  // cycles of the session already taken
  Cycle cycle_;
  bool has_cycle_ = false;
};

}  // namespace foretoken
