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

// How far an earlier run got.
struct Distilled {
  size_t next = 0;     // index of the first conversation that is still to be answered
  uint64_t bytes = 0;  // length of the complete lines; an unfinished line may follow them
};
// Reads how far the file at `path` got; a file that does not exist gives {0, 0}. Errors: a line
// that distill did not write (with its number); a last line that does not answer one of
// `documents`.
Result<Distilled> ReadDistilled(const std::string& path, std::span<const TextDocument> documents);

}  // namespace foretoken
