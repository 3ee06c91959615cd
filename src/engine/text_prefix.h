// The beginning of a text with all that was computed of it, for other texts that begin alike.
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
  std::unique_ptr<DraftState> draft;  // of `drafter`, or null; it has seen `tokens`, or more
  int read_from = 0;                  // Session::read_from

  int length() const { return static_cast<int>(tokens.size()); }
};

}  // namespace foretoken
