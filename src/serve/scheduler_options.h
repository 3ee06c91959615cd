// How much a scheduler may do at once.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/memory_reserve.h"
#include "base/types.h"
#include "model/kv_cache.h"

namespace foretoken {

struct SchedulerOptions {
  int slots = 8;     // answers that are written at once, at most
  int rows = 0;      // of a pass at most (Generator::Step); 0: as many as the model takes
  int queue = 64;    // answers that may wait to be admitted
  int drafters = 1;  // of the generator: requests may name those below
  // Bytes of all caches, of what drafters remember, and of the texts that are kept for later
  // requests. Running answers push out kept texts.
  size_t memory = size_t{1} << 30;
  bool keeps_texts = true;  // prompts and answers, so that later prompts that begin alike are not
                            // read again
  int context = 0;          // longest text, prompt included; 0: the model's
  DType cache_type = DType::kF16;
  std::vector<Token> end_tokens;  // by which the model ends a text
  // What a failing `new` of the writing thread may use up: after such a pass answers are set aside
  // until it can be filled again. Borrowed; null: there is none.
  MemoryReserve* reserve = nullptr;
  // Seconds of a clock that never goes back; empty: the system's.
  std::function<double()> clock;
};

}  // namespace foretoken
