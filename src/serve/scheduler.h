// Many texts at once: requests come from any thread, one thread writes all of them together.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/generator.h"
#include "serve/counters.h"
#include "serve/request.h"
#include "serve/scheduler_options.h"
#include "serve/stream.h"
#include "text/tokenizer.h"

namespace foretoken {

class BatchLoop;
struct ActiveRequest;

// Why a request was not accepted.
enum class Refusal : uint8_t {
  kNone,
  kInvalid,  // it can never be accepted
  kBusy,     // the queue is full: later it may be
  kClosing,  // the scheduler takes no more
};

struct Submission {
  std::unique_ptr<Stream> stream;  // null where it was refused
  Refusal refusal = Refusal::kNone;
  std::string error;  // a sentence for the user
};

// With a verifier of Guarantee::kSameText, each answer is the text that its request has alone,
// token for token, however many are written beside it and whatever becomes of those. Other
// verifiers keep their own promise: what drafts are made, which depends on the neighbours, may
// change their text. Requests are admitted in the order of their arrival.
//
// Thread-safety: any number of threads, but for Start, RunOnce, Drain, Stop and the destructor,
// which are for one thread, the owner's. The generator belongs to the scheduler while it lives.
class Scheduler {
 public:
  // Borrows all but the options. Errors: an option outside its range, such as a context that the
  // model does not have.
  static Result<std::unique_ptr<Scheduler>> Create(Generator& generator, const Model& model,
                                                   const Tokenizer& tokenizer,
                                                   SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Queues a request, or says why not.
  Submission Submit(Request request);
  // Ends a request's answers within one step. An unknown id, or one that has ended, is ignored.
  void Cancel(uint64_t id);

  // Starts the thread that writes. Without it, RunOnce does.
  void Start();
  // One pass over everything that runs. Returns whether anything is left to do. REQUIRES: Start was
  // not called.
  bool RunOnce();
  // Takes no more requests and returns when all answers have ended.
  void Drain();
  // Takes no more requests, cancels all answers and ends the thread.
  void Stop();

  // Whether any answer is written or waits.
  bool busy() const;
  Counters Snapshot() const;

 private:
  Scheduler(Generator& generator, const Model& model, const Tokenizer& tokenizer,
            const SchedulerOptions& options);
  Status Check(const Request& request) const;
  Submission Refuse(Refusal refusal, std::string error);
  void Run();
  bool Advance();

  const Model& model_;
  const SchedulerOptions options_;
  std::unique_ptr<BatchLoop> loop_;  // the writing thread's alone

  mutable std::mutex mutex_;  // of all below
  std::condition_variable wake_, idle_;
  std::vector<std::shared_ptr<ActiveRequest>> arrived_;    // not seen by the loop yet
  std::map<uint64_t, std::weak_ptr<ActiveRequest>> live_;  // by id; some may be gone
  uint64_t last_id_ = 0;
  int queued_ = 0;  // answers that are not admitted
  int64_t refused_ = 0;
  bool is_closing_ = false, is_stopping_ = false, is_busy_ = false;
  Counters counters_;  // as of the last pass
  std::thread thread_;
};

}  // namespace foretoken
