// Where sessions of a scheduler begin and what they leave behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/generator.h"
#include "engine/prefix_cache.h"
#include "model/model.h"
#include "serve/job.h"
#include "serve/scheduler_options.h"

namespace foretoken {

// Texts that running and finished answers leave for later prompts that begin alike, and prompts
// that are held for the other answers of their requests. Thread-safety: one thread. Borrows all it
// is given.
class KeptTexts {
 public:
  KeptTexts(Generator& generator, const Model& model, const SchedulerOptions& options)
      : generator_(generator),
        options_(options),
        page_bytes_(model.pages(options.cache_type).page_bytes()),
        cache_(options.memory) {}

  // Gives the job a session that goes on with its text behind the longest beginning of it that is
  // kept or held. Errors: see Generator::Begin; the job has no session then.
  Status Begin(Job& job);
  // How many tokens of a job's text Begin would find, which are kept for it before others.
  int Touch(const Job& job);
  // Keeps the prompt of a job that goes on and that has read it, if there is memory to fork it.
  void KeepPrompt(const Job& job);
  // Holds that prompt for the request's other answers, whether or not they may use kept texts.
  void HoldPrompt(const Job& job);
  // One of those has begun, or ended before it did: the last one gives the prompt up.
  void ReleasePrompt(const Job& job);
  // Keeps what a job's session holds of its text and ends the session. REQUIRES: status ok.
  void Keep(Job& job);
  // Gives up what was used longest ago: a text, or its second half; prompts that are held when no
  // text is left. Returns whether there was any.
  bool EvictOldest();
  // The same of all of them.
  bool EvictAll();

  size_t bytes() const;
  // Of the keys and values of kPageRows tokens.
  size_t page_bytes() const { return page_bytes_; }

 private:
  // A prompt for the answers of one request that have not begun.
  struct HeldPrompt {
    PrefixCache cache;  // of this one text
    int answers;
  };

  bool MayKeep(const Job& job) const;
  // Where a job finds the beginning of its text; null where nothing is kept for it.
  PrefixCache* SourceFor(const Job& job);

  Generator& generator_;
  const SchedulerOptions& options_;
  size_t page_bytes_;
  PrefixCache cache_;
  std::map<uint64_t, HeldPrompt> held_;  // by request
};

}  // namespace foretoken
