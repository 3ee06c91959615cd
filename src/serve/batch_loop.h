// What a scheduler's thread does again and again: admit, compute one pass, deliver.
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

// Thread-safety: one thread. Borrows all it is given but the options.
class BatchLoop {
 public:
  BatchLoop(Generator& generator, const Model& model, const Tokenizer& tokenizer,
            SchedulerOptions options);
  // The first answer of a request waits behind those that wait. Its other answers join it when its
  // prompt has been read, which is held for them.
  void Add(std::shared_ptr<ActiveRequest> request);
  // One pass over everything that runs. Returns whether anything is left to do.
  bool RunOnce();

  // Answers that were never admitted, those included that wait for their request's first.
  int unadmitted() const;
  const Counters& counters() const { return counters_; }
  double Now() const { return options_.clock(); }
  // Errors: a text of so many tokens does not fit into the memory even alone. Thread-safety: any.
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
  // Returns whether the answer has ended.
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
  // Whether a prompt was kept that running jobs which still read theirs have not looked at.
  bool has_new_prompt_ = false;
  // Answers that may run at once: fewer than the slots after a pass for which there was no memory.
  int limit_;
  Counters counters_;
};

}  // namespace foretoken
