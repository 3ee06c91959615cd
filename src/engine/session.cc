#include "engine/session.h"

namespace foretoken {

std::string_view FinishName(Finish finish) {
  switch (finish) {
    case Finish::kNot:
      return "none";
    case Finish::kStop:
      return "stop";
    case Finish::kLimit:
      return "limit";
    case Finish::kContext:
      return "context";
  }
  return "none";
}

Session::Session(const SessionOptions& options, std::unique_ptr<KvCache> kv,
                 std::unique_ptr<DraftState> drafter_state)
    : context(options.capacity),
      stop(options.stop),
      sampler(options.sampling),
      cache(std::move(kv)),
      draft(std::move(drafter_state)) {}

}  // namespace foretoken
