// The conversations that one process of `foretoken distill` answers, and the file that it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/models/distiller.h"
#include "base/result.h"

namespace foretoken {

class DistillTask {
 public:
  virtual ~DistillTask() = default;

  // The index of the next conversation to answer; nothing if none is left for this process, or none
  // until it has kept those that it was given.
  virtual Result<std::optional<size_t>> Next() = 0;
  // Stores the answers to a conversation, unless they are empty. Called in the order of Next.
  virtual Status Keep(size_t index, const Transcript& transcript) = 0;

  // For the progress bar: conversations that are done, and a note.
  virtual int64_t done() const = 0;
  virtual std::string note() const { return ""; }
};

}  // namespace foretoken
