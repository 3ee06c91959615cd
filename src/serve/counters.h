// Statistics that a scheduler accumulates over its lifetime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/stats.h"

namespace foretoken {

// A histogram of durations in seconds. The first bucket is [0, 1 ms]; each further bound is twice
// the one before.
class Histogram {
 public:
  Histogram();
  void Observe(double value);

  // Inclusive upper bounds of the buckets. One more bucket holds everything above the last bound.
  static const std::vector<double>& Bounds();
  const std::vector<int64_t>& counts() const { return counts_; }  // [bounds + 1]
  int64_t count() const { return count_; }
  double sum() const { return sum_; }
  double largest() const { return largest_; }

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  double sum_ = 0, largest_ = 0;
};

// Totals since the scheduler was created, except for fields marked "now".
struct Counters {
  // Answers.
  int running = 0;       // now
  int reading = 0;       // now: running answers whose prompts are not fully processed
  int waiting = 0;       // now: not admitted yet, or preempted for lack of memory
  int most_running = 0;  // maximum number of answers in a pass so far
  int64_t submitted = 0, refused = 0;
  int64_t stopped = 0, limited = 0, cancelled = 0, failed = 0;  // by outcome
  int64_t set_aside = 0;  // preemptions: a running answer freed its memory and resumes later
  // Tokens.
  int64_t prompt_tokens = 0, cached_tokens = 0;  // of admitted answers
  // Prompt rows that passes computed, including those recomputed for resumed answers.
  int64_t prompt_rows = 0;
  int64_t written_tokens = 0;
  int64_t steps = 0;
  int64_t busy_slots = 0;  // running answers, summed over the steps
  // Drafts.
  int64_t cycles = 0, drafted_tokens = 0, accepted_tokens = 0;
  int64_t cycle_tokens = 0;                 // emitted by cycles: accepted tokens and bonuses
  std::vector<StepAcceptance> accepted_at;  // [deepest draft]; i: drafted tokens at depth i + 1
  // Memory of KV caches and drafter state, in bytes, now.
  size_t running_bytes = 0, kept_bytes = 0, budget_bytes = 0;
  size_t most_bytes = 0;  // peak of running_bytes + kept_bytes, taken after each step
  // Seconds.
  Histogram first_token;     // from submission to the first token of an answer
  Histogram between_tokens;  // from one delivery of an answer to the next

  // Acceptance length tau: tokens emitted per cycle; 0 before the first cycle.
  double MeanWritten() const {
    return cycles == 0 ? 0 : static_cast<double>(cycle_tokens) / static_cast<double>(cycles);
  }
  void Add(const Cycle& cycle);
};

}  // namespace foretoken
