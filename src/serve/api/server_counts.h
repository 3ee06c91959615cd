// Statistics of a service's answers, finished and in progress.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "serve/counters.h"
#include "serve/openai/metrics.h"
#include "serve/openai/server_info.h"
#include "serve/request.h"

namespace foretoken::openai {

// Thread-safety: any number of threads.
class ServerCounts {
 public:
  // Records the start of an answer. Returns its key.
  uint64_t Begin(const std::string& drafter, int prompt_tokens);
  // Records an event of an answer. `seconds`: time since its previous event, or since Begin.
  void Advance(uint64_t key, const AnswerEvent& event, double seconds);
  // Records the end of an answer. `reason`: "stop", "length", "tool_calls", "abort" or "error".
  // `log` is empty if nothing was drafted.
  void End(uint64_t key, const std::string& reason, const AnswerTimes& times,
           const SpeculationLog& log);
  // Records a request that was refused with this HTTP status.
  void Refuse(int status);

  // The body of /metrics.
  std::string Metrics(const Counters& scheduler, const std::string& model) const;
  // The body of /slots: the oldest answers occupy the busy slots.
  std::vector<SlotInfo> Slots(const Counters& scheduler, int slots) const;

 private:
  mutable std::mutex mutex_;
  ServerMetrics metrics_;
  std::map<uint64_t, SlotInfo> live_;
  uint64_t last_key_ = 0;
};

}  // namespace foretoken::openai
