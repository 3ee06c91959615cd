// The files a process reads and those it is about to write, by device and inode: whatever name,
// link or mount leads to a file, no output replaces an input.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace foretoken {

// What a file is opened for. A process's own state (a journal, a checkpoint) is read and written
// again; an input is only read.
enum class FileUse : uint8_t { kInput, kOwnState };

// From now on (or no longer) inputs are remembered once they are closed, so that an output named
// later cannot replace them either. Commands turn it on; a library's user may write what it read.
void RememberInputs(bool on);

// Says that the file `info` describes is being read. Errors: an output of this process, or, as own
// state, one of its inputs.
Status ClaimForReading(const struct stat& info, const std::string& path, FileUse use);

// Says for as long as it lives that a path will be written. Thread-safe.
class OutputClaim {
 public:
  OutputClaim() = default;
  OutputClaim(OutputClaim&& other) noexcept { *this = std::move(other); }
  OutputClaim& operator=(OutputClaim&& other) noexcept;
  ~OutputClaim();

  // Errors: a file that was read as an input, a path that another claim covers.
  static Result<OutputClaim> Make(const std::string& path);

 private:
  uint64_t number_ = 0;  // 0: claims no file
};

}  // namespace foretoken
