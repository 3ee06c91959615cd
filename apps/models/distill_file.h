// The progress of `foretoken distill`, read from its output file: a DistilledLine for each answered
// conversation, in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/documents.h"

namespace foretoken {

// The progress of an earlier run.
struct Distilled {
  size_t next = 0;     // index of the first unanswered conversation
  uint64_t bytes = 0;  // length of the complete lines; an incomplete line may follow
};
// Reads the progress from the file at `path`; {0, 0} if it does not exist. Errors: a line that
// distill did not write (with its number); a last line that does not answer one of `documents`.
Result<Distilled> ReadDistilled(const std::string& path, std::span<const TextDocument> documents);

// Checks that `text`, of the file at `path`, consists of whole lines whose sources ascend within
// [begin, end). Does not parse the messages. Errors: the first line that does not fit.
Status CheckDistilledPart(const std::string& path, std::string_view text, size_t begin, size_t end);

}  // namespace foretoken
