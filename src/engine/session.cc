#include "engine/session.h"

namespace foretoken {

Session::Session(const SessionOptions& options, std::unique_ptr<KvCache> cache,
                 std::unique_ptr<DraftState> draft)
    : context_(options.capacity),
      stop_(options.stop),
      is_stopped_(options.is_stopped),
      sampler_(options.sampling),
      answer_filter_(options.filter),
      logprobs_(options.logprobs),
      cache_(std::move(cache)),
      draft_(std::move(draft)),
      prediction_(options.prediction),
      drafter_(options.drafter) {}

}  // namespace foretoken
