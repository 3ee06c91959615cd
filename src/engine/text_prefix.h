// A prefix of a text with everything computed for it, for other texts that begin with it.
#pragma once

#include <memory>
#include <vector>

#include "draft/drafter.h"
#include "model/kv_cache.h"

namespace foretoken {

struct TextPrefix {
  std::vector<Token> tokens;
  std::unique_ptr<KvCache> cache;  // the target's rows of `tokens`
  const Drafter* drafter = nullptr;
  std::unique_ptr<DraftState> draft;  // of `drafter`, or null; has observed at least `tokens`
  int read_from = 0;                  // Session::read_from

  int length() const { return static_cast<int>(tokens.size()); }
};

}  // namespace foretoken
