// Where sessions of a scheduler begin and what they leave behind.
#pragma once

#include <cstddef>

#include "engine/generator.h"
#include "engine/prefix_cache.h"
#include "model/model.h"
#include "serve/job.h"
#include "serve/scheduler_options.h"

namespace foretoken {

// Texts that running and finished answers leave for later prompts that begin alike. Thread-safety:
// one thread. Borrows all it is given.
class KeptTexts {
 public:
  KeptTexts(Generator& generator, const Model& model, const SchedulerOptions& options)
      : generator_(generator), model_(model), options_(options), cache_(options.memory) {}

  // Gives the job a session that goes on with its text behind the longest beginning of it that is
  // kept. Errors: see Generator::Begin; the job has no session then.
  Status Begin(Job& job);
  // How many tokens of a job's text Begin would find, which are kept for it before others.
  int Touch(const Job& job);
  // Keeps the prompt of a job that goes on, if there is memory to fork it.
  void KeepPrompt(const Job& job);
  // Keeps what a job's session holds of its text and ends the session. REQUIRES: status ok.
  void Keep(Job& job);
  // Gives up what was used longest ago: a text, or its second half. Returns whether there was any.
  bool EvictOldest();
  // The same of all texts.
  bool EvictAll();

  size_t bytes() const;
  // Of one token's keys and values.
  size_t row_bytes() const;

 private:
  bool MayKeep(const Job& job) const;

  Generator& generator_;
  const Model& model_;
  const SchedulerOptions& options_;
  PrefixCache cache_;
};

}  // namespace foretoken
