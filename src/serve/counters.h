// What a scheduler counts of everything it has done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/stats.h"

namespace foretoken {

// How often values fell into ranges: [0, 1 ms], and from there to twice the bound each.
class Histogram {
 public:
  Histogram();
  void Observe(double value);

  // Upper bounds of the ranges, included in them; a last range is above all.
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

// Totals since the scheduler was made, unless they say "now".
struct Counters {
  // Answers.
  int running = 0;       // now
  int reading = 0;       // now: of those, with prompts that are not scored whole
  int waiting = 0;       // now: not admitted yet, or set aside for want of memory
  int most_running = 0;  // in any pass
  int64_t submitted = 0, refused = 0;
  int64_t stopped = 0, limited = 0, cancelled = 0, failed = 0;  // how they ended
  int64_t set_aside = 0;  // times that a running answer gave up its memory, to be resumed
  // Tokens.
  int64_t prompt_tokens = 0, cached_tokens = 0;  // of answers that were admitted
  // Rows that passes computed of prompts, of texts that were resumed too.
  int64_t prompt_rows = 0;
  int64_t written_tokens = 0;
  int64_t steps = 0;
  int64_t busy_slots = 0;  // answers that ran, summed over the steps
  // Drafts.
  int64_t cycles = 0, drafted_tokens = 0, accepted_tokens = 0;
  int64_t cycle_tokens = 0;  // written by cycles: those that were accepted, and bonuses
  std::vector<StepAcceptance> accepted_at;  // [deepest draft] guesses at depth i + 1
  // Memory of caches and of what drafters remember, in bytes, now.
  size_t running_bytes = 0, kept_bytes = 0, budget_bytes = 0;
  size_t most_bytes = 0;  // of both together after any step
  // Seconds.
  Histogram first_token;     // from submission to the first token of an answer
  Histogram between_tokens;  // from one delivery of an answer to the next

  // tau: tokens a cycle writes; 0 where there was none.
  double MeanWritten() const {
    return cycles == 0 ? 0 : static_cast<double>(cycle_tokens) / static_cast<double>(cycles);
  }
  void Add(const Cycle& cycle);
};

}  // namespace foretoken
