// What a service counts of everything it has answered, and what it is answering.
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
  // An answer was asked for. Returns its key.
  uint64_t Begin(const std::string& drafter, int prompt_tokens);
  // An event of it came; `seconds` after the one before, or after it began.
  void Advance(uint64_t key, const AnswerEvent& event, double seconds);
  // It has ended: by "stop", "length", "tool_calls", "abort" or "error". `log` is empty where
  // nothing was drafted.
  void End(uint64_t key, const std::string& reason, const AnswerTimes& times,
           const SpeculationLog& log);
  // A request was refused with this status of HTTP.
  void Refuse(int status);

  // The text of /metrics.
  std::string Metrics(const Counters& scheduler, const std::string& model) const;
  // The slots: those that are busy hold the oldest answers.
  std::vector<SlotInfo> Slots(const Counters& scheduler, int slots) const;

 private:
  mutable std::mutex mutex_;
  ServerMetrics metrics_;
  std::map<uint64_t, SlotInfo> live_;
  uint64_t last_key_ = 0;
};

}  // namespace foretoken::openai
