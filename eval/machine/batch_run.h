// Runs a list of requests through a scheduler and times them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/loaded_model.h"
#include "serve/scheduler.h"

namespace foretoken {

// The requests of a run.
struct BatchWork {
  std::vector<std::vector<Token>> prompts;
  int new_tokens = 64;  // exact length of each answer; end tokens are ignored
};

// Cuts `count` prompts out of `text`. Their lengths are log-uniform in [shortest, longest] tokens.
// Deterministic. REQUIRES: text not empty.
std::vector<std::vector<Token>> MixedPrompts(const std::vector<Token>& text, int count,
                                             int shortest, int longest);
// The range of the number of tokens after the shared ones, in prompts of SharedPrompts.
inline constexpr int kMinOwnTokens = 20, kMaxOwnTokens = 200;
// Cuts `count` prompts out of `text`. All begin with the same `shared` tokens and continue with
// kMinOwnTokens to kMaxOwnTokens tokens that differ. Deterministic. REQUIRES: text not empty.
std::vector<std::vector<Token>> SharedPrompts(const std::vector<Token>& text, int count,
                                              int shared);
// Returns `count` random tokens with recurring phrases, on which copying drafters find matches.
std::vector<Token> MadeUpTokens(int vocab, int count);

struct BatchRun {
  std::vector<std::vector<Token>> answers;  // [requests]
  std::vector<double> first_token;          // [requests] seconds since the start of the run
  std::vector<double> written_a_cycle;      // [requests] tau; 0 where an answer had no cycle
  double seconds = 0;
  double tokens = 0;  // generated tokens of all requests
  // The longest time, in seconds, between consecutive deliveries of an answer.
  // `longest_gap_beside_prompt`: only before deliveries by passes that also computed prompt rows.
  double longest_gap_beside_prompt = 0, longest_gap = 0;
  Counters counters;

  double TokensPerSecond() const { return seconds > 0 ? tokens / seconds : 0; }
};

// Submits all requests at once and collects their answers. Errors: an option or request that the
// scheduler rejects; an answer that fails; an interrupt.
Result<BatchRun> RunBatch(const LoadedModel& loaded, Generator& generator, const BatchWork& work,
                          SchedulerOptions options);

// Returns the `share` quantile of `values` (0.5 is the median); 0 if there are none.
double Percentile(std::vector<double> values, double share);

}  // namespace foretoken
