// What distill writes: a line a conversation, {"source": its number, "messages": [...]}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "apps/models/distiller.h"
#include "base/result.h"

namespace foretoken {

// The line, its end included.
std::string DistilledLine(size_t source, const Transcript& transcript);

// How far an earlier run got.
struct Distilled {
  size_t next = 0;     // conversation to go on with
  uint64_t bytes = 0;  // of whole lines: what follows was cut off
};
// Of a file that need not exist. Errors: a line that is none of distill's, with its number; a last
// one that is none of `documents`, answered.
Result<Distilled> ReadDistilled(const std::string& path, std::span<const TextDocument> documents);

}  // namespace foretoken
