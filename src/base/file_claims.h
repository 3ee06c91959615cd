// Registry of the files that a process reads and writes, by device and inode, so that an output
// never replaces an input, not even under another name, through a link or on another mount.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace foretoken {

// Purpose of opening a file. A process's own state (a journal, a checkpoint) may be written again;
// an input is only read.
enum class FileUse : uint8_t { kInput, kOwnState };

// Turns on (or off) remembering inputs after they are closed, so that a later output cannot replace
// them either. Commands turn it on; users of the library may write what they have read.
void RememberInputs(bool on);

// Registers a regular file, whose stat is `info`, as being read. `path` is for messages. Errors:
// with kInput, the file is an output of this process; with kOwnState, it was read as an input.
Status ClaimForReading(const struct stat& info, const std::string& path, FileUse use);

// Forgets an input with the id of a file that this process has just created: that input was deleted
// meanwhile, and the filesystem uses its inode again.
void ForgetDeletedInput(const struct stat& created);

// Marks a path as an output as long as the claim lives. Thread-safe.
class OutputClaim {
 public:
  OutputClaim() = default;
  OutputClaim(OutputClaim&& other) noexcept { *this = std::move(other); }
  OutputClaim& operator=(OutputClaim&& other) noexcept;
  ~OutputClaim();

  // Errors: the file was read as an input, or another claim covers the path.
  static Result<OutputClaim> Make(const std::string& path);

 private:
  uint64_t number_ = 0;  // 0: claims no file
};

}  // namespace foretoken
