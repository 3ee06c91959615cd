// Limits and other options of a scheduler.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/memory_reserve.h"
#include "base/types.h"
#include "model/kv_cache.h"

namespace foretoken {

struct SchedulerOptions {
  int slots = 8;     // maximum number of running answers
  int rows = 0;      // maximum rows of a pass (Generator::Step); 0: Model::max_rows
  int queue = 64;    // maximum number of answers that wait to be admitted
  int drafters = 1;  // requests may name the generator's drafters with numbers below this
  // Maximum bytes of the KV caches and drafter states of running answers and of texts kept for
  // later requests. Kept texts are evicted when running answers need their memory.
  size_t memory = size_t{1} << 30;
  // Whether prompts and answers are kept, so that later prompts with a common prefix need not
  // compute it again.
  bool keeps_texts = true;
  int context = 0;  // maximum tokens of a text, prompt included; 0: the model's context
  DType cache_type = DType::kF16;
  std::vector<Token> end_tokens;  // the model's end-of-text tokens (Request::ignore_eos)
  // Memory that is released if `new` fails during a pass. After such a pass, kept texts are evicted
  // and answers are set aside until it can be refilled. Borrowed; null: no reserve.
  MemoryReserve* reserve = nullptr;
  // Returns the time of a monotonic clock, in seconds. Empty: the system's clock.
  std::function<double()> clock;
};

}  // namespace foretoken
