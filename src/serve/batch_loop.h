// The loop of a scheduler's thread: admits waiting answers, computes one pass and delivers its
// tokens.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/generator.h"
#include "serve/counters.h"
#include "serve/job.h"
#include "serve/kept_texts.h"
#include "serve/scheduler_options.h"
#include "text/tokenizer.h"

namespace foretoken {

// Thread-safety: one thread, except for CheckFits. Borrows all constructor arguments except the
// options.
class BatchLoop {
 public:
  BatchLoop(Generator& generator, const Model& model, const Tokenizer& tokenizer,
            SchedulerOptions options);
  // Queues the first answer of a request behind all waiting answers. The request's other answers
  // are put at the front of the queue once its prompt has been read; the prompt is held for them.
  void Add(std::shared_ptr<ActiveRequest> request);
  // Admits answers and runs one pass over all running ones. Returns whether any answer is still
  // running or waiting.
  bool RunOnce();

  // Number of answers that were never admitted, including those that wait for the first answer of
  // their request.
  int unadmitted() const;
  const Counters& counters() const { return counters_; }
  double Now() const { return options_.clock(); }
  // Errors: a text of `tokens` tokens does not fit into the memory even if it is the only one.
  // Thread-safety: any number of threads.
  Status CheckFits(int tokens) const;

 private:
  using Jobs = std::vector<std::unique_ptr<Job>>;

  void DropCancelled();
  // Memory: batch_memory.cc.
  size_t BytesFor(size_t tokens) const;
  size_t GrowthBytes() const;
  size_t RunningBytes() const;
  size_t RunningBytesAlone() const;
  size_t DraftBytesFor(const Job& job) const;
  size_t DraftGrowthBytes() const;
  bool MakeRoom(size_t bytes);
  bool MakeRoomToStart(Job& job);
  void FitRunning();
  void RefillReserve();
  void SetAside(std::unique_ptr<Job> job);

  void Admit();
  Status Start(Job& job);
  void CountCached(Job& job);
  bool WaitsForPrefix(const Job& job) const;
  void ShareNewPrompts();
  void Step();
  void Deliver();
  // Delivers the job's new tokens. Returns whether the answer has ended.
  bool DeliverOne(Job& job);
  void OnFirstToken(Job& job);
  void JudgeBroken(bool was_alone);
  void EndFailed();
  void Finish(Job& job, FinishReason reason, std::string error, AnswerEvent event);
  void UpdateCounters();

  Generator& generator_;
  const Tokenizer& tokenizer_;
  SchedulerOptions options_;
  KeptTexts kept_;
  std::deque<std::unique_ptr<Job>> waiting_;
  Jobs running_;  // in the order of their admission
  // Whether a prompt has been cached since jobs that are still reading theirs last looked for a
  // longer prefix.
  bool has_new_prompt_ = false;
  // Maximum number of running answers: the slots, or fewer after a pass in which a session failed
  // or memory ran out. Every answer that ends raises it by one.
  int limit_;
  Counters counters_;
};

}  // namespace foretoken
