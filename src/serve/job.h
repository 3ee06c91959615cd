// One answer on its way through the scheduler.
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

// A request that was accepted, shared by its answers.
struct ActiveRequest {
  uint64_t id = 0;
  Request asked;
  std::vector<Token> stop_tokens;  // those asked for and the model's own, unless it ignores them
  int limit = 0;                   // longest text, prompt included, that an answer may become
  double submitted = 0;            // by the scheduler's clock, in seconds
  EventQueue events;

  ActiveRequest(uint64_t id, Request request, std::function<void()> on_ready)
      : id(id), asked(std::move(request)), events(asked.answers, std::move(on_ready)) {}
};

// Used by the engine's thread alone. It holds a session while it runs. Without one it waits: for
// the first time, or again after it gave up its memory, with all that it had written.
class Job {
 public:
  Job(std::shared_ptr<ActiveRequest> request, int answer, const Tokenizer& tokenizer);

  ActiveRequest& request() const { return *request_; }
  const std::shared_ptr<ActiveRequest>& shared_request() const { return request_; }
  int answer() const { return answer_; }
  SamplingParams Sampling() const;
  // What the rest of the answer must look like; null: anything.
  const std::shared_ptr<const LogitFilter>& filter() const { return filter_; }
  // Of the whole answer, what was delivered of it included.
  Prediction prediction() const;
  // Prompt and everything that was delivered.
  std::span<const Token> text() const { return text_; }
  int prompt() const { return static_cast<int>(request_->asked.prompt.size()); }
  int written() const { return static_cast<int>(text_.size()) - prompt(); }
  bool is_cancelled() const { return request_->events.is_cancelled(); }

  // Holds text(), and what was not delivered yet; null while it waits. Given by Begin.
  std::unique_ptr<Session> session;
  bool was_admitted = false;
  int failures = 0;          // errors of its session that its neighbours did not have
  size_t draft_bytes = 0;    // that its drafter's state is expected to hold when text() is read
  double last_delivery = 0;  // by the scheduler's clock; of the first token and those after it
  Usage usage;
  AnswerTimes times;

  // Runs from now on in `begun`, which was given text() to read.
  void Begin(std::unique_ptr<Session> begun);
  // Gives the session up; another one goes on with text(), which must be all that it has written.
  void SetAside();
  // Takes what the session has written since the last call, up to the end of the first stop string,
  // and the cycle that wrote it. Returns the event that tells of it, which is to be sent where it
  // says anything; `finish` is filled in where the answer has ended.
  AnswerEvent TakeWritten();
  // Whether a stop string has ended the answer, behind which its session may have written more.
  bool is_stopped_by_text() const { return shown_.stopped(); }
  // The last cycle, as far as the answer keeps it; null if TakeWritten's tokens came otherwise.
  const Cycle* last_cycle() const { return has_cycle_ ? &cycle_ : nullptr; }
  // Fills in what a last event says: held back text, too, where the answer is complete.
  void Finish(FinishReason reason, std::string error, AnswerEvent* event);

 private:
  void TakeCycle(size_t fresh, size_t kept);
  // The copies among the first `kept` of the `fresh` last tokens that the session has written.
  std::vector<CopiedRun> CopiesIn(size_t fresh, size_t kept) const;

  std::shared_ptr<ActiveRequest> request_;
  int answer_;
  const Tokenizer& tokenizer_;
  std::vector<Token> text_;
  std::shared_ptr<const LogitFilter> filter_;
  StopText shown_;
  bool drops_space_;        // of the first piece, which begins the text
  size_t cycles_seen_ = 0;  // of the session's
  Cycle cycle_;
  bool has_cycle_ = false;
};

}  // namespace foretoken
