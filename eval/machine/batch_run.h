// One way of answering a list of requests through a scheduler, timed.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loaded_model.h"
#include "serve/scheduler.h"

namespace foretoken {

// What a run's requests have in common.
struct BatchWork {
  std::vector<std::vector<Token>> prompts;
  int new_tokens = 64;  // of each answer, exactly
};

// Prompts of `shortest` to `longest` tokens, as many of each order of magnitude, cut out of `text`.
// REQUIRES: text not empty.
std::vector<std::vector<Token>> MixedPrompts(const std::vector<Token>& text, int count,
                                             int shortest, int longest);
// Prompts that begin with the same `shared` tokens of `text` and go on with 20 to 200 of their own.
// REQUIRES: text not empty.
std::vector<std::vector<Token>> SharedPrompts(const std::vector<Token>& text, int count,
                                              int shared);
// Phrases that come again, of random tokens.
std::vector<Token> MadeUpTokens(int vocab, int count);

struct BatchRun {
  std::vector<std::vector<Token>> answers;  // [requests]
  std::vector<double> first_token;          // [requests] seconds since all were submitted
  std::vector<double> written_a_cycle;      // [requests] tau; 0 where an answer had no cycle
  double seconds = 0;
  double tokens = 0;  // written
  // The longest time between two deliveries to one answer, of those that wrote when rows of
  // prompts were computed in the same pass, and of all.
  double longest_gap_beside_prompt = 0, longest_gap = 0;
  Counters counters;

  double TokensPerSecond() const { return seconds > 0 ? tokens / seconds : 0; }
};

// Submits all requests at once and reads their answers. Errors: an option or request that the
// scheduler refuses; an answer that fails; interrupted.
Result<BatchRun> RunBatch(const LoadedModel& loaded, Generator& generator, const BatchWork& work,
                          SchedulerOptions options);

// The value that a share of `values` does not exceed; 0 of none.
double Percentile(std::vector<double> values, double share);

}  // namespace foretoken
