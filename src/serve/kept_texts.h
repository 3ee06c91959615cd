// Reuse of cached sequences between a scheduler's sessions.
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

// Caches of running and finished answers, for later prompts with a common prefix, and prompts held
// for the other answers of the same request. Thread-safety: one thread. Borrows all constructor
// arguments.
class KeptTexts {
 public:
  KeptTexts(Generator& generator, const Model& model, const SchedulerOptions& options)
      : generator_(generator),
        options_(options),
        page_bytes_(model.pages(options.cache_type).page_bytes()),
        cache_(options.memory) {}

  // Gives the job a session that starts from the longest cached or held prefix of its text. Errors:
  // see Generator::Begin; the job then has no session.
  Status Begin(Job& job);
  // Number of tokens of the job's text that Begin would find cached. Marks them as recently used,
  // so that other entries are evicted first.
  int Touch(const Job& job);
  // Number of tokens of the job's text that Begin would find cached once `other`, a running job,
  // has read its prompt.
  int PrefixFrom(const Job& other, const Job& job) const;
  // Caches the prompt of a running job that has processed it, if there is memory to fork it.
  // Returns whether it is cached.
  bool KeepPrompt(const Job& job);
  // Holds the prompt of a running job that has processed it, for the other answers of its request,
  // even if the request does not share caches with other requests (Request::keeps_text). Does
  // nothing if there is no memory to fork it.
  void HoldPrompt(const Job& job);
  // Reports that `job`, an answer for which a prompt may be held, has begun, or has ended before it
  // could begin. The prompt is released with the last of these answers.
  void ReleasePrompt(const Job& job);
  // Caches what the job's session holds of its text and ends the session. REQUIRES: status ok.
  void Keep(Job& job);
  // Evicts the least recently used text, or its second half; once no text is left, a held prompt.
  // Returns whether there was anything to evict.
  bool EvictOldest();
  // Evicts all cached texts and held prompts. Returns whether there were any.
  bool EvictAll();

  size_t bytes() const;
  // Bytes of the keys and values of kPageRows tokens.
  size_t page_bytes() const { return page_bytes_; }

 private:
  // A prompt held for the answers of one request that have not begun.
  struct HeldPrompt {
    PrefixCache cache;  // holds only this prompt
    int answers;
  };

  bool MayKeep(const Job& job) const;
  // The cache that may hold a prefix of the job's text; null if there is none for this job.
  PrefixCache* SourceFor(const Job& job);

  Generator& generator_;
  const SchedulerOptions& options_;
  size_t page_bytes_;
  PrefixCache cache_;
  std::map<uint64_t, HeldPrompt> held_;  // by request id
};

}  // namespace foretoken
