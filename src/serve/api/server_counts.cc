#include "serve/api/server_counts.h"

#include <algorithm>
#include <limits>

namespace foretoken::openai {

uint64_t ServerCounts::Begin(const std::string& drafter, int prompt_tokens) {
  const std::lock_guard lock(mutex_);
  const uint64_t key = ++last_key_;
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int>::max());
  live_[key] = {.is_busy = true,
                .task = static_cast<int>(key % kMost),
                .drafter = drafter,
                .prompt_tokens = prompt_tokens};
  return key;
}

void ServerCounts::Advance(uint64_t key, const AnswerEvent& event, double seconds) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(key);
  if (found == live_.end()) return;
  const auto tokens = static_cast<int>(event.tokens.size());
  if (tokens > 0 && found->second.decoded_tokens > 0)
    metrics_.token_seconds.Observe(seconds / tokens, tokens);
  found->second.decoded_tokens += tokens;
  metrics_.generated_tokens += tokens;
  found->second.cached_tokens = event.usage.cached_tokens;
  if (event.cycle_nodes > 0) metrics_.ObservePass(event.cycle_accepted);
}

void ServerCounts::End(uint64_t key, const std::string& reason, const AnswerTimes& times,
                       const SpeculationLog& log) {
  const std::lock_guard lock(mutex_);
  const auto ended = live_.extract(key);  // first, because the rest may run out of memory
  if (ended.empty()) return;
  ++metrics_.finished[reason];
  if (times.first_token > 0) {
    metrics_.queue_seconds.Observe(times.admitted);
    metrics_.first_token_seconds.Observe(times.first_token);
    metrics_.request_seconds.Observe(times.last_token);
    metrics_.prompt_seconds += std::max(0.0, times.first_token - times.admitted);
    metrics_.generation_seconds += std::max(0.0, times.last_token - times.first_token);
  }
  if (log.steps() > 0) metrics_.drafts[ended.mapped().drafter].Add(log);
}

void ServerCounts::Refuse(int status) {
  const std::lock_guard lock(mutex_);
  ++metrics_.refused[status];
}

std::string ServerCounts::Metrics(const Counters& scheduler, const std::string& model) const {
  ServerMetrics metrics;
  {
    const std::lock_guard lock(mutex_);
    metrics = metrics_;
  }
  metrics.running = scheduler.running;
  metrics.waiting = scheduler.waiting;
  const auto used = static_cast<double>(scheduler.running_bytes + scheduler.kept_bytes);
  const auto budget = static_cast<double>(scheduler.budget_bytes);
  metrics.cache_usage = budget > 0 ? used / budget : 0;
  metrics.prompt_tokens = scheduler.prompt_tokens;
  metrics.cached_tokens = scheduler.cached_tokens;
  metrics.passes = scheduler.steps;
  metrics.busy_slots = scheduler.busy_slots;
  return metrics.Text(model);
}

std::vector<SlotInfo> ServerCounts::Slots(const Counters& scheduler, int slots) const {
  std::vector<SlotInfo> all(static_cast<size_t>(slots));
  const std::lock_guard lock(mutex_);
  const auto busy = static_cast<size_t>(std::clamp(scheduler.running, 0, slots));
  size_t next = 0;
  for (const auto& [key, live] : live_) {
    if (next == busy) break;
    all[next++] = live;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].id = static_cast<int>(i);
    if (all[i].drafter.empty()) all[i].drafter = "none";
  }
  return all;
}

}  // namespace foretoken::openai
