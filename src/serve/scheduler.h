// The batch scheduler: accepts requests from any thread and computes their answers together on one
// thread.
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
  kInvalid,  // the request can never be accepted
  kBusy,     // the queue is full; a retry may succeed
  kClosing,  // the scheduler is shutting down
};

struct Submission {
  std::unique_ptr<Stream> stream;  // null if refused
  Refusal refusal = Refusal::kNone;
  std::string error;  // a message for the user
};

// With a verifier of Guarantee::kSameText, each answer equals, token for token, the text that its
// request gets when run alone, regardless of what else is batched with it. Other verifiers keep
// only their own guarantee: their text may depend on the drafts, which depend on the rest of the
// batch. Requests are admitted in order of arrival.
//
// Thread-safety: any number of threads, except Start, RunOnce, Drain, Stop and the destructor,
// which only the owner's thread may call. The scheduler has exclusive use of the generator during
// its lifetime.
class Scheduler {
 public:
  // Borrows everything except the options. Errors: an option outside its range, such as a context
  // longer than the model's.
  static Result<std::unique_ptr<Scheduler>> Create(Generator& generator, const Model& model,
                                                   const Tokenizer& tokenizer,
                                                   SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Queues a request, or returns why it was refused.
  Submission Submit(Request request);
  // Ends a request's answers within one step. Ignores an unknown id and a request that has ended.
  void Cancel(uint64_t id);

  // Starts the engine's thread. Without it, the owner drives the scheduler with RunOnce.
  void Start();
  // Runs one pass over all running answers. Returns whether work is left. REQUIRES: Start was not
  // called.
  bool RunOnce();
  // Stops accepting requests and returns when all answers have ended.
  void Drain();
  // Stops accepting requests, cancels all answers and ends the thread.
  void Stop();

  // Whether any answer is running or waiting.
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
  std::unique_ptr<BatchLoop> loop_;  // used only by the engine's thread

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable wake_, idle_;
  std::vector<std::shared_ptr<ActiveRequest>> arrived_;    // not passed to the loop yet
  std::map<uint64_t, std::weak_ptr<ActiveRequest>> live_;  // by id; entries may have expired
  uint64_t last_id_ = 0;
  int queued_ = 0;  // answers not admitted yet
  int64_t refused_ = 0;
  bool is_closing_ = false, is_stopping_ = false, is_busy_ = false;
  Counters counters_;  // as of the last pass
  std::thread thread_;
};

}  // namespace foretoken
