// The output file of `foretoken distill`: one line for each conversation,
// {"source": index of the conversation in the data, "messages": [{"role", "content"}, ...]}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "apps/models/distiller.h"
#include "base/result.h"

namespace foretoken {

// The line of one conversation, with its newline.
std::string DistilledLine(size_t source, const Transcript& transcript);

// The progress of an earlier run.
struct Distilled {
  size_t next = 0;     // index of the first unanswered conversation
  uint64_t bytes = 0;  // length of the complete lines; an incomplete line may follow
};
// Reads the progress from the file at `path`; {0, 0} if it does not exist. Errors: a line that
// distill did not write (with its number); a last line that does not answer one of `documents`.
Result<Distilled> ReadDistilled(const std::string& path, std::span<const TextDocument> documents);

}  // namespace foretoken
